import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;

/** Groups, as the admin client describes them. */
final class Groups {
    private final Clients clients;

    Groups(Clients clients) {
        this.clients = clients;
    }

    Object describe(JsonNode arguments, Deadline deadline) throws Exception {
        String name = arguments.get("group").asText();
        ConsumerGroupDescription group = clients.admin().describeConsumerGroups(List.of(name)).all().get().get(name);
        List<Object> members = new ArrayList<>();
        group.members().forEach(member -> {
            Map<String, Object> one = new HashMap<>();
            one.put("id", member.consumerId());
            one.put("partitions", member.assignment().topicPartitions().size());
            one.put("upgraded", member.upgraded().orElse(null));
            members.add(one);
        });
        return Map.of("state", group.groupState().toString(), "protocol", group.type().toString(), "assignor", group.partitionAssignor(),
            "members", members);
    }
}
