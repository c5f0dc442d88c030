import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Reads a topic with the Java consumer, from the first offset to the ends as they are when the command begins. */
final class Consuming {
    private static final int MOST_RECORDS = 100_000;

    private final Clients clients;

    Consuming(Clients clients) {
        this.clients = clients;
    }

    /** Counts. */
    Object consume(JsonNode arguments, Deadline deadline) throws Exception {
        Map<Integer, Tally> partitions = new TreeMap<>();
        readAll(arguments, deadline, partition -> partitions.put(partition, new Tally()),
            record -> partitions.get(record.partition()).add(record.offset(), Tally.length(record.key()), Tally.length(record.value())));
        Tally total = new Tally();
        partitions.values().forEach(total::addAll);
        return Map.of("total", total, "partitions", partitions);
    }

    /** The records themselves, with all that the Java client says of them. */
    Object records(JsonNode arguments, Deadline deadline) throws Exception {
        List<Object> records = new ArrayList<>();
        readAll(arguments, deadline, partition -> { }, record -> {
            if (records.size() == MOST_RECORDS) {
                throw new IllegalStateException("more than " + MOST_RECORDS + " records: count them instead");
            }
            List<Object> headers = new ArrayList<>();
            record.headers().forEach(header -> {
                List<Object> pair = new ArrayList<>();
                pair.add(header.key());
                pair.add(Bytes.format(header.value()));
                headers.add(pair);
            });
            Map<String, Object> one = new HashMap<>();
            one.put("partition", record.partition());
            one.put("offset", record.offset());
            one.put("timestamp", record.timestamp());
            one.put("timestamp_type", record.timestampType().name);
            one.put("leader_epoch", record.leaderEpoch().orElse(null));
            one.put("key", Bytes.format(record.key()));
            one.put("value", Bytes.format(record.value()));
            one.put("headers", headers);
            records.add(one);
        });
        return records;
    }

    private void readAll(JsonNode arguments, Deadline deadline, Consumer<Integer> eachPartition,
            Consumer<ConsumerRecord<byte[], byte[]>> eachRecord) throws Exception {
        String topic = arguments.get("topic").asText();
        Properties properties = new Properties();
        properties.put("isolation.level", arguments.get("isolation").asText());
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "none"); // offsets are given below: a reset would mean that records were missed
        properties.put("max.poll.records", "10000");
        Clients.putAll(properties, arguments.get("properties"));
        try (KafkaConsumer<byte[], byte[]> consumer = clients.consumer(properties)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            partitions.forEach(partition -> eachPartition.accept(partition.partition()));
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.assign(partitions);
            consumer.beginningOffsets(partitions).forEach(consumer::seek);
            for (;;) {
                List<TopicPartition> unread = new ArrayList<>();
                StringBuilder state = new StringBuilder();
                for (TopicPartition partition : partitions) {
                    long position = consumer.position(partition);
                    if (position < ends.get(partition)) {
                        unread.add(partition);
                        state.append(partition).append(" at ").append(position).append(" of ").append(ends.get(partition)).append(' ');
                    }
                }
                if (unread.isEmpty()) {
                    return;
                }
                deadline.check("reading " + topic + " with the Java consumer", state.toString());
                consumer.poll(Duration.ofMillis(200)).forEach(record -> {
                    if (record.offset() < ends.get(new TopicPartition(record.topic(), record.partition()))) {
                        eachRecord.accept(record);
                    }
                });
            }
        }
    }
}
