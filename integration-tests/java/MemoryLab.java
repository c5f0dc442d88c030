import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The Java side of the memory lab: {@code MemoryLab BOOTSTRAP_SERVERS TOPIC PARTITIONS RECORDS STOP_MS}. Reads a small topic for two seconds, polls
 * once, stops, reads all, and prints the memory of its process as our consumer does.
 */
public final class MemoryLab {
    private static final Duration POLL = Duration.ofMillis(500);

    private MemoryLab() {}

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        int partitions = Integer.parseInt(arguments[2]);
        long expected = Long.parseLong(arguments[3]);
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(all("idle", partitions));
            for (int i = 0; i < 4; i++) {
                consumer.poll(POLL);
            }
            System.out.println("idle rss=" + resident("VmRSS:"));
            consumer.assign(all(arguments[1], partitions));
            long records = consumer.poll(POLL).count();
            Thread.sleep(Long.parseLong(arguments[4]));
            System.out.println("stopped rss=" + resident("VmRSS:"));
            while (records < expected) {
                records += consumer.poll(POLL).count();
            }
            Thread.sleep(1000);
            System.out.println("end rss=" + resident("VmRSS:") + " peak=" + resident("VmHWM:") + " records=" + records);
        }
    }

    private static List<TopicPartition> all(String topic, int partitions) {
        return IntStream.range(0, partitions).mapToObj(index -> new TopicPartition(topic, index)).toList();
    }

    private static long resident(String field) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(field)) {
                return 1024 * Long.parseLong(line.substring(field.length()).replace("kB", "").trim());
            }
        }
        throw new IllegalStateException(field);
    }
}
