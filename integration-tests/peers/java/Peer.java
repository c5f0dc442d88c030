import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.internals.AppInfoParser;

/** The Java client as a peer, with its defaults: what a peer is told and prints is documented in contract/src/lib.rs. */
final class Peer {
    private static final Duration WAIT = Duration.ofSeconds(1);

    private final Map<String, String> arguments = new HashMap<>();
    private final Properties properties = new Properties();
    private final long records;
    private final long limit;

    public static void main(String[] given) throws Exception {
        new Peer(given).run();
    }

    private Peer(String[] given) {
        for (int i = 0; i + 1 < given.length; i += 2) {
            if (given[i].equals("--set")) {
                String[] property = given[i + 1].split("=", 2);
                properties.put(property[0], property[1]);
            } else {
                arguments.put(given[i], given[i + 1]);
            }
        }
        records = Long.parseLong(arguments.get("--records"));
        limit = Long.parseLong(arguments.get("--limit"));
        properties.put("bootstrap.servers", arguments.get("--bootstrap-server"));
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        switch (arguments.get("--mode")) {
            case "classic" -> properties.put("group.protocol", "classic");
            case "async" -> {
                properties.put("group.protocol", "consumer");
                properties.put("group.id", "peers"); // without one there is no async consumer
            }
            default -> throw new IllegalArgumentException("no mode " + arguments.get("--mode") + ": there are classic and async");
        }
    }

    private void run() throws Exception {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments.get("--partitions")); i++) {
            partitions.add(new TopicPartition(arguments.get("--topic"), i));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.assign(partitions);
            for (int i = 0; i < Integer.parseInt(arguments.get("--passes")); i++) {
                pass(consumer, partitions);
            }
        }
    }

    private void pass(KafkaConsumer<byte[], byte[]> consumer, List<TopicPartition> partitions) throws IOException {
        long began = System.nanoTime();
        long cpu = cpu();
        consumer.seekToBeginning(partitions);
        long count = 0;
        long offsets = 0;
        long keys = 0;
        long values = 0;
        long polls = 0;
        while (count < records) {
            if (System.nanoTime() - began > limit * 1_000_000_000L) {
                throw new IllegalStateException("no more than " + count + " records came within " + limit + " s");
            }
            polls++;
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(WAIT)) {
                count++;
                offsets += record.offset();
                keys += record.key() == null ? 0 : record.key().length;
                values += record.value() == null ? 0 : record.value().length;
            }
        }
        double wall = (System.nanoTime() - began) / 1e9;
        double used = (cpu() - cpu) / 1e9;
        String checksum = Long.toUnsignedString(offsets + 31 * keys + 1_000_003 * values);
        System.out.printf("{\"client\":\"kafka-clients %s, Java %s\",\"records\":%d,\"bytes\":%d,\"wall_s\":%.6f,\"cpu_s\":%.6f,"
                + "\"max_rss\":%d,\"checksum\":\"%s\",\"polls\":%d}%n",
            AppInfoParser.getVersion(), System.getProperty("java.version"), count, keys + values, wall, used, maxRss(), checksum, polls);
    }

    /** Nanoseconds of all threads, those of the compilers and the collector included. */
    private static long cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long maxRss() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        throw new IOException("no VmHWM in /proc/self/status");
    }
}
