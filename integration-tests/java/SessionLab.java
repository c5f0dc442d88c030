import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java side of the session lab. Only what clients of 3.9 and 4.x have in common: which of them runs is a matter of the class path.
 *
 * <ul>
 *   <li>{@code SessionLab write TOPIC PARTITIONS RECORDS RECORD_BYTES EVERY_MS BOOTSTRAP_SERVERS...}: to each cluster, so many records in each
 *       period, to the partitions in turn.
 *   <li>{@code SessionLab read TOPIC PARTITIONS READERS LIFE_MS REST_MS HABIT WORK_MIN_MS WORK_MAX_MS [KEY=VALUE]...}: so many consumers that work
 *       after each poll that gave records; with a life of more than 0, each is closed after it, and another takes its place after a rest. The
 *       habit is {@code assigned}, {@code in-group} (each subscribes, in a group of its number), or the milliseconds after which it pauses another
 *       half of its partitions. Prints the number of records read so far, a line a second.
 * </ul>
 */
public final class SessionLab {
    private static final Duration POLL = Duration.ofMillis(500);

    private SessionLab() {}

    public static void main(String[] arguments) throws Exception {
        List<String> rest = List.of(arguments).subList(1, arguments.length);
        switch (arguments[0]) {
            case "write" -> write(rest);
            case "read" -> read(rest);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    private static void write(List<String> arguments) throws Exception {
        String topic = arguments.get(0);
        int partitions = Integer.parseInt(arguments.get(1));
        int records = Integer.parseInt(arguments.get(2));
        byte[] value = new byte[Integer.parseInt(arguments.get(3))];
        long period = Long.parseLong(arguments.get(4));
        List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
        for (String servers : arguments.subList(5, arguments.size())) {
            Properties properties = new Properties();
            properties.put("bootstrap.servers", servers);
            properties.put("acks", "1");
            producers.add(new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer()));
        }
        long next = System.nanoTime();
        for (int turn = 0;; next += period * 1_000_000) {
            for (int i = 0; i < records; i++, turn++) {
                for (KafkaProducer<byte[], byte[]> producer : producers) {
                    producer.send(new ProducerRecord<>(topic, turn % partitions, null, value), SessionLab::endIfFailed);
                }
            }
            Thread.sleep(Math.max(0, (next + period * 1_000_000 - System.nanoTime()) / 1_000_000));
        }
    }

    private static void read(List<String> arguments) throws Exception {
        String topic = arguments.get(0);
        int partitions = Integer.parseInt(arguments.get(1));
        int readers = Integer.parseInt(arguments.get(2));
        long life = Long.parseLong(arguments.get(3));
        long rest = Long.parseLong(arguments.get(4));
        String habit = arguments.get(5);
        long workMin = Long.parseLong(arguments.get(6));
        long workMax = Long.parseLong(arguments.get(7));
        AtomicLong records = new AtomicLong();
        List<TopicPartition> all = IntStream.range(0, partitions).mapToObj(index -> new TopicPartition(topic, index)).toList();
        for (int i = 0; i < readers; i++) {
            Properties properties = new Properties();
            properties.put("client.id", "reader-" + i);
            for (String property : arguments.subList(8, arguments.size())) {
                String[] pair = property.split("=", 2);
                properties.put(pair[0], pair[1]);
            }
            boolean inGroup = habit.equals("in-group");
            if (inGroup) {
                properties.put("group.id", "group-" + i);
            }
            long pause = inGroup || habit.equals("assigned") ? 0 : Long.parseLong(habit);
            new Thread(() -> {
                try {
                    while (true) {
                        try (KafkaConsumer<byte[], byte[]> consumer =
                                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                            if (inGroup) {
                                consumer.subscribe(List.of(topic));
                            } else {
                                consumer.assign(all);
                            }
                            long begun = System.nanoTime();
                            long paused = begun;
                            while (life == 0 || System.nanoTime() - begun < life * 1_000_000) {
                                if (pause > 0 && System.nanoTime() - paused > pause * 1_000_000) {
                                    paused = System.nanoTime();
                                    pauseHalf(consumer, all);
                                }
                                int count = consumer.poll(POLL).count();
                                records.addAndGet(count);
                                if (count > 0 && workMax > 0) {
                                    Thread.sleep(ThreadLocalRandom.current().nextLong(workMin, workMax + 1));
                                }
                            }
                        }
                        Thread.sleep(rest);
                    }
                } catch (Exception failed) {
                    endIfFailed(null, failed);
                }
            }).start();
        }
        while (true) {
            System.out.println(records.get());
            Thread.sleep(1000);
        }
    }

    private static void pauseHalf(KafkaConsumer<?, ?> consumer, List<TopicPartition> all) {
        List<TopicPartition> shuffled = new ArrayList<>(all);
        Collections.shuffle(shuffled);
        List<TopicPartition> half = shuffled.subList(0, all.size() / 2);
        consumer.pause(half);
        consumer.resume(shuffled.subList(half.size(), all.size()));
    }

    /** A lab that has lost a client measures something else: the process ends, which is noticed. */
    private static void endIfFailed(Object unused, Exception failure) {
        if (failure != null) {
            failure.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }
}
