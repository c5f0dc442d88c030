import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.ElectionNotNeededException;

/** Who is there and who leads. */
final class Leaders {
    private final Clients clients;

    Leaders(Clients clients) {
        this.clients = clients;
    }

    /** Ids of the brokers that are registered and not fenced. */
    Object brokers(JsonNode arguments, Deadline deadline) throws Exception {
        return clients.admin().describeCluster().nodes().get().stream().map(Node::id).sorted().collect(Collectors.toList());
    }

    /** Makes a broker the leader of a partition: as preferred replica, in place of the present leader if it holds no replica yet. */
    Object move(JsonNode arguments, Deadline deadline) throws Exception {
        TopicPartition partition = new TopicPartition(arguments.get("topic").asText(), arguments.get("partition").asInt());
        int to = arguments.get("to").asInt();
        TopicPartitionInfo before = info(partition);
        List<Integer> others = before.replicas().stream().map(Node::id).filter(id -> id != to).collect(Collectors.toList());
        if (others.size() == before.replicas().size()) {
            others.remove(before.leader() == null ? others.get(0) : Integer.valueOf(before.leader().id()));
        }
        List<Integer> wanted = new ArrayList<>(List.of(to));
        wanted.addAll(others);

        clients.admin().alterPartitionReassignments(Map.of(partition, Optional.of(new NewPartitionReassignment(wanted)))).all().get();
        deadline.await("the reassignment of " + partition + " to " + wanted, () -> {
            TopicPartitionInfo now = info(partition);
            boolean moving = clients.admin().listPartitionReassignments(Set.of(partition)).reassignments().get().containsKey(partition);
            boolean inSync = now.isr().stream().anyMatch(node -> node.id() == to);
            return !moving && inSync ? null : now.toString();
        });
        deadline.await("the election of broker " + to + " for " + partition, () -> {
            TopicPartitionInfo now = info(partition);
            if (now.leader() != null && now.leader().id() == to) {
                return null;
            }
            Optional<Throwable> failed = clients.admin().electLeaders(ElectionType.PREFERRED, Set.of(partition)).partitions().get().get(partition);
            return failed.filter(thrown -> !(thrown instanceof ElectionNotNeededException)).map(Throwable::toString).orElse(now.toString());
        });
        Topics.awaitServed(clients, Set.of(partition));
        return null;
    }

    private TopicPartitionInfo info(TopicPartition partition) throws Exception {
        TopicDescription topic = clients.admin().describeTopics(List.of(partition.topic())).allTopicNames().get().get(partition.topic());
        return topic.partitions().get(partition.partition());
    }
}
