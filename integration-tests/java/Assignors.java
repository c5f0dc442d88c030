import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/** The client's assignors, given what a leader is given: the bytes that members joined with, and the topics. */
final class Assignors {
    private Assignors() {}

    /** Per case and member: the bytes of its assignment, and its subscription as this client writes it; or what the assignor throws. */
    static Object assign(JsonNode arguments, Deadline deadline) {
        String name = arguments.get("assignor").asText();
        List<Object> outcomes = new ArrayList<>();
        for (JsonNode one : arguments.get("cases")) {
            // some keep what they were given last
            try {
                outcomes.add(Map.of("Ok", assign(assignor(name), one)));
            } catch (RuntimeException thrown) {
                outcomes.add(Map.of("Err", thrown.toString()));
            }
        }
        return outcomes;
    }

    private static Object assign(ConsumerPartitionAssignor assignor, JsonNode one) {
        Map<String, Subscription> group = new HashMap<>();
        Map<String, int[]> written = new HashMap<>();
        one.get("members").properties().forEach(member -> {
            ByteBuffer bytes = ByteBuffer.wrap(Bytes.parse(member.getValue().get("subscription")));
            Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes);
            JsonNode instance = member.getValue().get("instance_id");
            subscription.setGroupInstanceId(instance.isNull() ? Optional.empty() : Optional.of(instance.asText()));
            group.put(member.getKey(), subscription);
            // before an assignor reads the user data, which uses it up
            written.put(member.getKey(), bytes(ConsumerProtocol.serializeSubscription(subscription)));
        });
        Map<String, Object> outcome = new TreeMap<>();
        assignor.assign(cluster(one.get("topics")), new GroupSubscription(group)).groupAssignment().forEach((member, assignment) ->
            outcome.put(member, Map.of(
                "assignment", bytes(ConsumerProtocol.serializeAssignment(assignment)),
                "subscription", written.get(member))));
        return outcome;
    }

    /** A broker per replica: only its rack counts. */
    private static Cluster cluster(JsonNode topics) {
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.properties().forEach(topic -> {
            for (int number = 0; number < topic.getValue().size(); number++) {
                JsonNode racks = topic.getValue().get(number);
                Node[] replicas = new Node[racks.size()];
                for (int i = 0; i < replicas.length; i++) {
                    replicas[i] = new Node(i, "localhost", 9092, racks.get(i).asText());
                }
                partitions.add(new PartitionInfo(topic.getKey(), number, null, replicas, replicas));
            }
        });
        return new Cluster("assignors", List.of(), partitions, Set.of(), Set.of());
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("no assignor " + name);
        };
    }

    private static int[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Bytes.format(bytes);
    }
}
