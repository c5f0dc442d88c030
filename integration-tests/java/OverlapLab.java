import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * {@code OverlapLab TOPIC PARTITIONS SKIP RECORDS WORK_NS [KEY=VALUE]...}: reads a topic from its beginning with one consumer and works on each
 * record for so long. The first {@code SKIP} records are not measured. Prints how many records were measured, in how many nanoseconds, and how many
 * polls and fetches they took.
 */
public final class OverlapLab {
    private OverlapLab() {}

    public static void main(String[] arguments) {
        int partitions = Integer.parseInt(arguments[1]);
        long skip = Long.parseLong(arguments[2]);
        long wanted = Long.parseLong(arguments[3]);
        long workNanos = Long.parseLong(arguments[4]);
        Properties properties = new Properties();
        for (String property : List.of(arguments).subList(5, arguments.length)) {
            String[] pair = property.split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(IntStream.range(0, partitions).mapToObj(index -> new TopicPartition(arguments[0], index)).toList());
            Work work = new Work();
            for (long records = 0; records < skip;) {
                records += work.on(consumer.poll(Duration.ofSeconds(1)).count(), workNanos);
            }
            long begun = System.nanoTime();
            double fetches = fetches(consumer);
            long polls = 0;
            long records = 0;
            for (; records < wanted; polls++) {
                records += work.on(consumer.poll(Duration.ofSeconds(1)).count(), workNanos);
            }
            long nanos = System.nanoTime() - begun;
            System.out.println(records + " " + nanos + " " + polls + " " + (long) (fetches(consumer) - fetches));
        }
    }

    private static double fetches(KafkaConsumer<byte[], byte[]> consumer) {
        return consumer.metrics().values().stream()
            .filter(metric -> metric.metricName().name().equals("fetch-total") && metric.metricName().tags().size() == 1)
            .mapToDouble(metric -> (double) metric.metricValue())
            .sum();
    }

    /** Work that needs no processor. A rest that was too long is taken off the next one. */
    private static final class Work {
        private long owed;

        int on(int records, long nanosEach) {
            owed += records * nanosEach;
            while (owed > 0) {
                long begun = System.nanoTime();
                LockSupport.parkNanos(owed);
                owed -= System.nanoTime() - begun;
            }
            return records;
        }
    }
}
