import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java side of the liveness lab. Times are nanoseconds since 1970.
 *
 * <ul>
 *   <li>{@code LivenessLab write TOPIC PARTITION,... RECORDS PERIOD_MS BOOTSTRAP_SERVERS}: one record in each period, to the partitions in turn; the
 *       next is sent when the last is acknowledged. A line for each: {@code record PARTITION OFFSET SENT ACKNOWLEDGED}.
 *   <li>{@code LivenessLab read TOPIC PARTITIONS waits|storms|pauses [KEY=VALUE]...}: polls for ever. A line for each record,
 *       {@code record PARTITION OFFSET GIVEN RESUMED}, where the last is when its partition was last resumed, or 0; and one each second,
 *       {@code requests NUMBER}, fetch requests so far.
 * </ul>
 */
public final class LivenessLab {
    private LivenessLab() {}

    public static void main(String[] arguments) throws Exception {
        List<String> rest = List.of(arguments).subList(1, arguments.length);
        switch (arguments[0]) {
            case "write" -> write(rest);
            case "read" -> read(rest);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static long now() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000_000 + now.getNano();
    }

    private static void write(List<String> arguments) throws Exception {
        String topic = arguments.get(0);
        int[] partitions = Arrays.stream(arguments.get(1).split(",")).mapToInt(Integer::parseInt).toArray();
        int records = Integer.parseInt(arguments.get(2));
        long period = Long.parseLong(arguments.get(3)) * 1_000_000;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments.get(4));
        properties.put("acks", "1");
        StringBuilder lines = new StringBuilder();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            // metadata is found before anything is measured
            producer.partitionsFor(topic);
            long next = System.nanoTime();
            for (int turn = 0; turn < records; turn++, next += period) {
                Thread.sleep(Math.max(0, (next - System.nanoTime()) / 1_000_000));
                int partition = partitions[turn % partitions.length];
                long sent = now();
                RecordMetadata stored = producer.send(new ProducerRecord<>(topic, partition, null, new byte[100])).get();
                long acknowledged = now();
                lines.append("record ").append(partition).append(' ').append(stored.offset());
                lines.append(' ').append(sent).append(' ').append(acknowledged).append('\n');
            }
        }
        System.out.print(lines);
        System.out.flush();
    }

    private static void read(List<String> arguments) {
        String topic = arguments.get(0);
        int count = Integer.parseInt(arguments.get(1));
        String habit = arguments.get(2);
        Properties properties = new Properties();
        for (String property : arguments.subList(3, arguments.size())) {
            String[] pair = property.split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        Duration wait = Duration.ofMillis(switch (habit) {
            case "storms" -> 1;
            case "pauses" -> 20;
            default -> 500;
        });
        List<TopicPartition> all = IntStream.range(0, count).mapToObj(index -> new TopicPartition(topic, index)).toList();
        Map<Integer, Long> resumed = new HashMap<>();
        TopicPartition paused = null;
        long told = 0;
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all);
            while (true) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(wait);
                long given = now();
                StringBuilder lines = new StringBuilder();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    lines.append("record ").append(record.partition()).append(' ').append(record.offset()).append(' ').append(given);
                    lines.append(' ').append(resumed.getOrDefault(record.partition(), 0L)).append('\n');
                }
                if (habit.equals("pauses")) {
                    if (paused != null) {
                        resumed.put(paused.partition(), now());
                        consumer.resume(List.of(paused));
                        paused = null;
                    } else {
                        paused = all.get(ThreadLocalRandom.current().nextInt(count));
                        consumer.pause(List.of(paused));
                    }
                }
                if (System.nanoTime() - told > 1_000_000_000) {
                    told = System.nanoTime();
                    lines.append("requests ").append(requests(consumer)).append('\n');
                }
                System.out.print(lines);
                System.out.flush();
            }
        }
    }

    private static long requests(KafkaConsumer<byte[], byte[]> consumer) {
        for (Metric metric : consumer.metrics().values()) {
            boolean ofClient = metric.metricName().tags().size() == 1;
            if (metric.metricName().name().equals("fetch-total") && ofClient) {
                return (long) (double) (Double) metric.metricValue();
            }
        }
        return 0;
    }
}
