import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import kafka.tools.StorageTool;

/** Formats a node's data folder, in this JVM: kafka-storage.sh would start one for each node. */
final class Storage {
    private Storage() {}

    static Object format(JsonNode arguments, Deadline deadline) {
        List<String> words = new ArrayList<>(List.of(
            "format", "-t", arguments.get("cluster_id").asText(), "-c", arguments.get("properties").asText()));
        if (arguments.get("standalone").asBoolean()) {
            words.add("--standalone");
        }
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        int status = StorageTool.execute(words.toArray(new String[0]), new PrintStream(printed));
        if (status != 0) {
            throw new IllegalStateException("the storage tool ended with status " + status + ": " + printed);
        }
        return printed.toString();
    }
}
