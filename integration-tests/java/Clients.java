import com.fasterxml.jackson.databind.JsonNode;
import java.util.Properties;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The Java clients of one cluster, all over raw bytes. */
final class Clients {
    private final String bootstrapServers;
    private Admin admin;

    Clients(String bootstrapServers) {
        this.bootstrapServers = bootstrapServers;
    }

    /** One for all commands: it is thread-safe, and made at first use because the helper is there before the brokers are. */
    synchronized Admin admin() {
        if (admin == null) {
            admin = Admin.create(properties());
        }
        return admin;
    }

    KafkaProducer<byte[], byte[]> producer(Properties properties) {
        Properties all = properties();
        all.putAll(properties);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    KafkaConsumer<byte[], byte[]> consumer(Properties properties) {
        Properties all = properties();
        all.putAll(properties);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Adds the fields of a JSON object, which is how a test passes client properties of its own. */
    static void putAll(Properties properties, JsonNode object) {
        object.properties().forEach(field -> properties.put(field.getKey(), field.getValue().asText()));
    }

    private Properties properties() {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrapServers);
        // brokers of these tests go down and come back; the default waits up to a second before it looks again
        properties.put("reconnect.backoff.max.ms", "100");
        return properties;
    }
}
