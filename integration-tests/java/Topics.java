import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Topics, their configuration and their offsets. Each change is answered when it can be seen. */
final class Topics {
    private final Clients clients;

    Topics(Clients clients) {
        this.clients = clients;
    }

    Object create(JsonNode arguments, Deadline deadline) throws Exception {
        String name = arguments.get("topic").asText();
        NewTopic topic;
        int partitions;
        if (arguments.get("replicas").isNull()) {
            partitions = arguments.get("partitions").asInt();
            topic = new NewTopic(name, partitions, (short) arguments.get("replication").asInt());
        } else {
            Map<Integer, List<Integer>> replicas = new HashMap<>();
            for (JsonNode nodes : arguments.get("replicas")) {
                List<Integer> ids = new ArrayList<>();
                nodes.forEach(id -> ids.add(id.asInt()));
                replicas.put(replicas.size(), ids);
            }
            partitions = replicas.size();
            topic = new NewTopic(name, replicas);
        }
        Map<String, String> configs = new HashMap<>();
        arguments.get("configs").properties().forEach(field -> configs.put(field.getKey(), field.getValue().asText()));
        clients.admin().createTopics(List.of(topic.configs(configs))).all().get();
        awaitLeaders(name, partitions, deadline);
        return null;
    }

    Object createPartitions(JsonNode arguments, Deadline deadline) throws Exception {
        String name = arguments.get("topic").asText();
        int total = arguments.get("total").asInt();
        clients.admin().createPartitions(Map.of(name, NewPartitions.increaseTo(total))).all().get();
        awaitLeaders(name, total, deadline);
        return null;
    }

    Object delete(JsonNode arguments, Deadline deadline) throws Exception {
        String name = arguments.get("topic").asText();
        clients.admin().deleteTopics(List.of(name)).all().get();
        deadline.await("the deletion of " + name, () -> find(name) == null ? null : "it is still listed");
        return null;
    }

    Object describe(JsonNode arguments, Deadline deadline) throws Exception {
        TopicDescription topic = clients.admin().describeTopics(List.of(arguments.get("topic").asText())).allTopicNames().get()
            .values().iterator().next();
        Map<Integer, Object> partitions = new TreeMap<>();
        topic.partitions().forEach(partition -> {
            Map<String, Object> one = new HashMap<>();
            one.put("leader", partition.leader() == null || partition.leader().isEmpty() ? null : partition.leader().id());
            one.put("replicas", partition.replicas().stream().map(Node::id).collect(Collectors.toList()));
            one.put("isr", partition.isr().stream().map(Node::id).collect(Collectors.toList()));
            partitions.put(partition.partition(), one);
        });
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic.name());
        Map<String, String> configs = new TreeMap<>();
        clients.admin().describeConfigs(List.of(resource)).all().get().get(resource).entries()
            .forEach(entry -> configs.put(entry.name(), entry.value()));
        return Map.of("id", topic.topicId().toString(), "partitions", partitions, "configs", configs);
    }

    /** A value of null takes the setting back to its default. */
    Object alterConfigs(JsonNode arguments, Deadline deadline) throws Exception {
        ConfigResource.Type type = ConfigResource.Type.valueOf(arguments.get("type").asText());
        ConfigResource resource = new ConfigResource(type, arguments.get("name").asText());
        List<AlterConfigOp> changes = new ArrayList<>();
        Map<String, String> wanted = new HashMap<>();
        arguments.get("configs").properties().forEach(field -> {
            boolean delete = field.getValue().isNull();
            String value = delete ? "" : field.getValue().asText();
            changes.add(new AlterConfigOp(new ConfigEntry(field.getKey(), value), delete ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET));
            if (!delete) {
                wanted.put(field.getKey(), value);
            }
        });
        clients.admin().incrementalAlterConfigs(Map.of(resource, changes)).all().get();
        deadline.await("the new configuration of " + resource, () -> {
            Config now = clients.admin().describeConfigs(List.of(resource)).all().get().get(resource);
            for (Map.Entry<String, String> setting : wanted.entrySet()) {
                ConfigEntry entry = now.get(setting.getKey());
                if (entry == null || !setting.getValue().equals(entry.value())) {
                    return setting.getKey() + " is " + (entry == null ? "unknown" : entry.value());
                }
            }
            return null;
        });
        return null;
    }

    /** Answers the new start of the log. */
    Object deleteRecords(JsonNode arguments, Deadline deadline) throws Exception {
        TopicPartition partition = new TopicPartition(arguments.get("topic").asText(), arguments.get("partition").asInt());
        RecordsToDelete before = RecordsToDelete.beforeOffset(arguments.get("before").asLong());
        return clients.admin().deleteRecords(Map.of(partition, before)).lowWatermarks().get(partition).get().lowWatermark();
    }

    /** Per partition the offset, or null where no record matches. */
    Object listOffsets(JsonNode arguments, Deadline deadline) throws Exception {
        String name = arguments.get("topic").asText();
        JsonNode at = arguments.get("at");
        String word = at.isTextual() ? at.asText() : at.fieldNames().next();
        OffsetSpec spec = switch (word) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest", "latest_stable" -> OffsetSpec.latest();
            case "max_timestamp" -> OffsetSpec.maxTimestamp();
            case "timestamp" -> OffsetSpec.forTimestamp(at.get(word).asLong());
            default -> throw new IllegalArgumentException("unknown place in a log: " + word);
        };
        IsolationLevel isolation = word.equals("latest_stable") ? IsolationLevel.READ_COMMITTED : IsolationLevel.READ_UNCOMMITTED;
        Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
        clients.admin().describeTopics(List.of(name)).allTopicNames().get().get(name).partitions()
            .forEach(partition -> wanted.put(new TopicPartition(name, partition.partition()), spec));
        Map<Integer, Long> offsets = new TreeMap<>();
        clients.admin().listOffsets(wanted, new ListOffsetsOptions(isolation)).all().get()
            .forEach((partition, found) -> offsets.put(partition.partition(), found.offset() < 0 ? null : Long.valueOf(found.offset())));
        return offsets;
    }

    /** What a group has committed. */
    Object committed(JsonNode arguments, Deadline deadline) throws Exception {
        List<Object> all = new ArrayList<>();
        String group = arguments.get("group").asText();
        clients.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((partition, committed) -> {
            if (committed != null) {
                Map<String, Object> one = new HashMap<>();
                one.put("topic", partition.topic());
                one.put("partition", partition.partition());
                one.put("offset", committed.offset());
                one.put("leader_epoch", committed.leaderEpoch().orElse(null));
                one.put("metadata", committed.metadata());
                all.add(one);
            }
        });
        return all;
    }

    private void awaitLeaders(String name, int partitions, Deadline deadline) throws Exception {
        deadline.await("a leader for each of the " + partitions + " partitions of " + name, () -> {
            TopicDescription topic = find(name);
            if (topic == null) {
                return "the topic is not known yet";
            }
            Set<Integer> led = topic.partitions().stream()
                .filter(partition -> partition.leader() != null && !partition.leader().isEmpty())
                .map(partition -> partition.partition()).collect(Collectors.toSet());
            return led.size() == partitions ? null : "leaders only for " + led;
        });
        awaitServed(clients, IntStream.range(0, partitions).mapToObj(partition -> new TopicPartition(name, partition)).collect(Collectors.toList()));
    }

    /**
     * Waits until the leaders know that they lead, by asking each for an offset: they may learn it later than clients do. An idempotent
     * producer that is refused its first batch for that reason, and has its second one taken, never gets over it.
     */
    static void awaitServed(Clients clients, Collection<TopicPartition> partitions) throws Exception {
        clients.admin().listOffsets(partitions.stream().collect(Collectors.toMap(Function.identity(), p -> OffsetSpec.latest()))).all().get();
    }

    private TopicDescription find(String name) throws Exception {
        try {
            return clients.admin().describeTopics(List.of(name)).allTopicNames().get().get(name);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof UnknownTopicOrPartitionException) {
                return null;
            }
            throw failed;
        }
    }
}
