import com.fasterxml.jackson.databind.JsonNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;

/** Records of an exact shape. What comes back is counted from the broker's acknowledgements, not from what was meant to be sent. */
final class Producing {
    /** A broker that is frozen must not hold the answer back. */
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

    /** For batches of an exact size, which all wait until they are flushed: full memory would make the producer send early. */
    private static final int BATCH_MEMORY = 200 << 20;

    private final Clients clients;
    private final Map<String, KafkaProducer<byte[], byte[]>> open = new ConcurrentHashMap<>();

    Producing(Clients clients) {
        this.clients = clients;
    }

    Object produce(JsonNode arguments, Deadline deadline) throws Exception {
        Shape shape = new Shape(arguments);
        KafkaProducer<byte[], byte[]> producer = clients.producer(shape.properties);
        boolean keep = false;
        try {
            Run run = new Run(producer, shape, deadline);
            run.sendAll();
            keep = shape.leaveOpen;
            return run.answer();
        } finally {
            if (keep) {
                open.put(shape.transactionalId, producer);
            } else {
                producer.close(CLOSE_LIMIT);
            }
        }
    }

    /** Ends the transaction that a produce command has left open. */
    Object endTransaction(JsonNode arguments, Deadline deadline) {
        String id = arguments.get("id").asText();
        KafkaProducer<byte[], byte[]> producer = open.remove(id);
        if (producer == null) {
            throw new IllegalStateException("no transaction of " + id + " was left open");
        }
        try (producer) {
            end(producer, arguments.get("outcome").asText());
        }
        return null;
    }

    /** Records given one by one; those of a partition make one batch. Answers where each of them is. */
    Object produceRecords(JsonNode arguments, Deadline deadline) throws Exception {
        String topic = arguments.get("topic").asText();
        Properties properties = new Properties();
        properties.put("compression.type", arguments.get("codec").asText());
        properties.put("batch.size", "1000000");
        neverSendBeforeFlush(properties);
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        List<Object> places = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = clients.producer(properties)) {
            for (JsonNode record : arguments.get("records")) {
                Integer partition = record.get("partition").isNull() ? null : record.get("partition").asInt();
                Long timestamp = record.get("timestamp").isNull() ? null : record.get("timestamp").asLong();
                sent.add(producer.send(new ProducerRecord<>(topic, partition, timestamp,
                    Bytes.parse(record.get("key")), Bytes.parse(record.get("value")), headers(record.get("headers")))));
            }
            producer.flush();
            for (Future<RecordMetadata> one : sent) {
                RecordMetadata place = one.get();
                places.add(Map.of("partition", place.partition(), "offset", place.offset(), "timestamp", place.timestamp()));
            }
        }
        return places;
    }

    private static Headers headers(JsonNode pairs) {
        RecordHeaders headers = new RecordHeaders();
        pairs.forEach(pair -> headers.add(pair.get(0).asText(), Bytes.parse(pair.get(1))));
        return headers;
    }

    private static void end(KafkaProducer<byte[], byte[]> producer, String outcome) {
        switch (outcome) {
            case "commit" -> producer.commitTransaction();
            case "abort" -> producer.abortTransaction();
            default -> throw new IllegalArgumentException("unknown outcome of a transaction: " + outcome);
        }
    }

    private static void neverSendBeforeFlush(Properties properties) {
        properties.put("linger.ms", "600000");
        properties.put("delivery.timeout.ms", "660000");
    }

    /** A produce command, read once. */
    private static final class Shape {
        final String topic;
        final long records;
        final Payload keys;
        final Payload values;
        final Headers headers;
        final Properties properties = new Properties();
        final String partitioning;
        final int fixedPartition;
        final int recordsPerBatch;
        final int batchBytes;
        final Long firstTimestamp;
        final long timestampStep;
        final String transactionalId;
        final long recordsPerTransaction;
        final List<String> outcomes = new ArrayList<>();
        final boolean leaveOpen;

        Shape(JsonNode arguments) {
            topic = arguments.get("topic").asText();
            records = arguments.get("records").asLong();
            keys = new Payload(arguments.get("keys"));
            values = new Payload(arguments.get("values"));
            headers = headers(arguments.get("headers"));
            JsonNode to = arguments.get("partitioning");
            partitioning = to.isTextual() ? to.asText() : "fixed";
            fixedPartition = to.isTextual() ? -1 : to.get("fixed").asInt();
            recordsPerBatch = arguments.get("records_per_batch").asInt(); // 0 for null
            firstTimestamp = arguments.get("first_timestamp").isNull() ? null : arguments.get("first_timestamp").asLong();
            timestampStep = arguments.get("timestamp_step").asLong();

            int headerBytes = 0;
            for (JsonNode pair : arguments.get("headers")) {
                headerBytes += 3 * pair.get(0).asText().length() + Tally.length(Bytes.parse(pair.get(1))) + 10;
            }
            int largest = keys.largest() + values.largest() + headerBytes + 100;
            properties.put("compression.type", arguments.get("codec").asText());
            properties.put("batch.size", arguments.get("batch_size").asText());
            properties.put("linger.ms", arguments.get("linger_ms").asText());
            properties.put("max.request.size", Integer.toString(Math.max(1 << 20, 2 * largest)));
            if (recordsPerBatch > 0) {
                // twice the room that is needed: the producer estimates what compression saves, and a full batch is sent early
                batchBytes = Math.multiplyExact(2 * recordsPerBatch, largest);
                properties.put("batch.size", Integer.toString(batchBytes));
                properties.put("max.request.size", Integer.toString(BATCH_MEMORY));
                properties.put("buffer.memory", Integer.toString(BATCH_MEMORY));
                neverSendBeforeFlush(properties);
            } else {
                batchBytes = 0;
            }
            JsonNode transactions = arguments.get("transactions");
            if (transactions.isNull()) {
                transactionalId = null;
                recordsPerTransaction = 0;
                leaveOpen = false;
            } else {
                transactionalId = transactions.get("id").asText();
                recordsPerTransaction = transactions.get("records_each").asLong();
                transactions.get("outcomes").forEach(outcome -> outcomes.add(outcome.asText()));
                leaveOpen = transactions.get("leave_open").asBoolean();
                properties.put("transactional.id", transactionalId);
            }
            Clients.putAll(properties, arguments.get("properties"));
        }
    }

    /** One produce command at work. Callbacks come on the producer's thread, hence the lock. */
    private static final class Run {
        private final KafkaProducer<byte[], byte[]> producer;
        private final Shape shape;
        private final Deadline deadline;
        private final int partitions;
        private final Map<Integer, Integer> unflushed = new HashMap<>();

        private final Object lock = new Object();
        private final Map<Integer, Written> written = new TreeMap<>();
        private Exception failure;

        Run(KafkaProducer<byte[], byte[]> producer, Shape shape, Deadline deadline) {
            this.producer = producer;
            this.shape = shape;
            this.deadline = deadline;
            this.partitions = producer.partitionsFor(shape.topic).size();
            if ((long) shape.batchBytes * partitions > BATCH_MEMORY) {
                throw new IllegalArgumentException("batches of " + shape.recordsPerBatch + " records for " + partitions
                    + " partitions may need more than " + BATCH_MEMORY + " bytes of memory: ask for fewer or smaller records");
            }
        }

        void sendAll() throws Exception {
            boolean transactional = shape.transactionalId != null;
            if (transactional) {
                producer.initTransactions();
                if (shape.records == 0 && shape.leaveOpen) {
                    throw new IllegalArgumentException("a transaction that is left open needs a record");
                }
            }
            long transaction = 0;
            for (long i = 0; i < shape.records; i++) {
                if (transactional && i % shape.recordsPerTransaction == 0) {
                    producer.beginTransaction();
                }
                send(i);
                boolean last = i + 1 == shape.records;
                if (transactional && (last || (i + 1) % shape.recordsPerTransaction == 0)) {
                    // an abort drops what was not sent yet; these tests want aborted records in the log
                    flush();
                    if (!(last && shape.leaveOpen)) {
                        String outcome = shape.outcomes.get((int) (transaction % shape.outcomes.size()));
                        end(producer, outcome);
                        settle(outcome.equals("commit"));
                    }
                    transaction++;
                }
            }
            flush();
            settle(!transactional);
            if (shape.recordsPerBatch > 0) {
                producer.metrics().forEach((name, metric) -> {
                    if (name.name().equals("batch-split-total") && ((Number) metric.metricValue()).doubleValue() > 0) {
                        throw new IllegalStateException("the broker refused a batch of " + shape.recordsPerBatch
                            + " records as too large and the producer split it: raise the topic's max.message.bytes or ask for fewer records");
                    }
                });
            }
        }

        private void send(long i) throws Exception {
            byte[] key = shape.keys.next(i);
            byte[] value = shape.values.next(i);
            Integer partition = partition(i, key);
            if (shape.recordsPerBatch > 0) {
                if (partition == null) {
                    throw new IllegalArgumentException("batches of an exact size need records whose partition is known:"
                        + " no null key with the default partitioner");
                }
                if (unflushed.merge(partition, 1, Integer::sum) > shape.recordsPerBatch) {
                    flush();
                    unflushed.put(partition, 1);
                }
            }
            Long timestamp = shape.firstTimestamp == null ? null : Long.valueOf(shape.firstTimestamp + i * shape.timestampStep);
            int keyLength = Tally.length(key);
            int valueLength = Tally.length(value);
            producer.send(new ProducerRecord<>(shape.topic, partition, timestamp, key, value, shape.headers), (place, failed) -> {
                synchronized (lock) {
                    if (failed == null) {
                        written.computeIfAbsent(place.partition(), p -> new Written()).add(place.offset(), keyLength, valueLength);
                    } else if (failure == null) {
                        failure = failed;
                    }
                }
            });
            if (i % 1000 == 0) {
                failIfAnyFailed();
                deadline.check("producing " + shape.records + " records to " + shape.topic, i + " are sent");
            }
        }

        private Integer partition(long i, byte[] key) {
            return switch (shape.partitioning) {
                case "fixed" -> shape.fixedPartition;
                case "round_robin" -> (int) (i % partitions);
                case "default" -> key == null ? null : BuiltInPartitioner.partitionForKey(key, partitions);
                default -> throw new IllegalArgumentException("unknown partitioning " + shape.partitioning);
            };
        }

        private void flush() throws Exception {
            producer.flush();
            unflushed.clear();
            failIfAnyFailed();
        }

        private void failIfAnyFailed() throws Exception {
            synchronized (lock) {
                if (failure != null) {
                    throw failure;
                }
            }
        }

        private void settle(boolean committed) {
            synchronized (lock) {
                written.values().forEach(one -> one.settle(committed));
            }
        }

        Object answer() {
            synchronized (lock) {
                Tally all = new Tally();
                Tally committed = new Tally();
                Map<Integer, Object> partitions = new TreeMap<>();
                written.forEach((partition, one) -> {
                    all.addAll(one.all);
                    committed.addAll(one.committed);
                    partitions.put(partition, Map.of(
                        "all", one.all, "committed", one.committed, "first_offset", one.firstOffset, "last_offset", one.lastOffset));
                });
                return Map.of("all", all, "committed", committed, "partitions", partitions);
            }
        }
    }

    /** What the broker acknowledged for one partition. */
    private static final class Written {
        final Tally all = new Tally();
        final Tally committed = new Tally();
        long firstOffset = Long.MAX_VALUE;
        long lastOffset = -1;
        private Tally undecided = new Tally();

        void add(long offset, int keyLength, int valueLength) {
            all.add(offset, keyLength, valueLength);
            undecided.add(offset, keyLength, valueLength);
            firstOffset = Math.min(firstOffset, offset);
            lastOffset = Math.max(lastOffset, offset);
        }

        void settle(boolean commit) {
            if (commit) {
                committed.addAll(undecided);
            }
            undecided = new Tally();
        }
    }
}
