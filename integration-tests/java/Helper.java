import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * What the Rust harness asks of the Java client, in one long-lived JVM per cluster: a JVM start per command would cost more than the commands.
 *
 * <p>Usage: {@code Helper BOOTSTRAP_SERVERS}. One JSON object per line on stdin, {@code {"id": 1, "command": "...", "limit_ms": 60000,
 * "arguments": {...}}}; one per line on stdout, {@code {"id": 1, "ok": ...}} or {@code {"id": 1, "error": {"kind": "TopicExistsException",
 * "message": "..."}}}. Commands run side by side, answers come in any order. Ends when stdin does.
 */
public final class Helper {
    interface Command {
        Object run(JsonNode arguments, Deadline deadline) throws Exception;
    }

    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        // libraries and tools print where they like; stdout is for answers only
        // in UTF-8 as the questions are, whatever the locale
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);

        Clients clients = new Clients(arguments[0]);
        Topics topics = new Topics(clients);
        Leaders leaders = new Leaders(clients);
        Producing producing = new Producing(clients);
        Consuming consuming = new Consuming(clients);
        Groups groups = new Groups(clients);
        Metrics metrics = new Metrics();
        Map<String, Command> commands = Map.ofEntries(
            Map.entry("format", Storage::format),
            Map.entry("assign", Assignors::assign),
            Map.entry("brokers", leaders::brokers),
            Map.entry("move_leader", leaders::move),
            Map.entry("create_topic", topics::create),
            Map.entry("create_partitions", topics::createPartitions),
            Map.entry("delete_topic", topics::delete),
            Map.entry("describe_topic", topics::describe),
            Map.entry("alter_configs", topics::alterConfigs),
            Map.entry("delete_records", topics::deleteRecords),
            Map.entry("list_offsets", topics::listOffsets),
            Map.entry("committed", topics::committed),
            Map.entry("describe_group", groups::describe),
            Map.entry("produce", producing::produce),
            Map.entry("produce_records", producing::produceRecords),
            Map.entry("end_transaction", producing::endTransaction),
            Map.entry("consume", consuming::consume),
            Map.entry("records", consuming::records),
            Map.entry("metrics", metrics::read));

        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            threads.execute(() -> answer(answers, request, commands));
        }
        // nobody is left to ask: do not wait for clients that close slowly, or for a command that hangs
        Runtime.getRuntime().halt(0);
    }

    private static void answer(PrintStream answers, JsonNode request, Map<String, Command> commands) {
        ObjectNode answer = JSON.createObjectNode().put("id", request.get("id").asLong());
        try {
            String name = request.get("command").asText();
            Command command = commands.get(name);
            if (command == null) {
                throw new IllegalArgumentException("unknown command " + name);
            }
            Deadline deadline = new Deadline(request.get("limit_ms").asLong());
            answer.set("ok", JSON.valueToTree(command.run(request.get("arguments"), deadline)));
        } catch (Throwable thrown) {
            Throwable cause = thrown;
            while ((cause instanceof ExecutionException || cause instanceof CompletionException) && cause.getCause() != null) {
                cause = cause.getCause();
            }
            cause.printStackTrace();
            answer.putObject("error").put("kind", cause.getClass().getSimpleName()).put("message", chain(cause));
        }
        synchronized (answers) {
            answers.println(answer);
            answers.flush();
        }
    }

    private static String chain(Throwable thrown) {
        StringBuilder text = new StringBuilder(String.valueOf(thrown.getMessage()));
        for (Throwable cause = thrown.getCause(); cause != null; cause = cause.getCause()) {
            text.append("; caused by ").append(cause);
        }
        return text.toString();
    }
}
