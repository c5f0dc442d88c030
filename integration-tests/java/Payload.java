import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Keys or values of a produce command: record {@code i} takes the pattern {@code i % patterns}. The same command makes the same bytes. */
final class Payload {
    private static final String[] ACTIONS = {"click", "view", "purchase", "login", "logout", "search", "scroll", "share"};

    private final List<JsonNode> patterns = new ArrayList<>();
    private long state = 88172645463325252L;

    Payload(JsonNode patterns) {
        patterns.forEach(this.patterns::add);
        if (this.patterns.isEmpty()) {
            throw new IllegalArgumentException("a produce command needs a pattern for keys and one for values");
        }
    }

    byte[] next(long i) {
        JsonNode pattern = patterns.get((int) (i % patterns.size()));
        if (pattern.isTextual()) {
            return pattern.asText().equals("empty") ? new byte[0] : null;
        }
        String kind = pattern.fieldNames().next();
        JsonNode shape = pattern.get(kind);
        return switch (kind) {
            case "numbered" -> numbered(i % shape.get("distinct").asLong(), shape.get("size").asInt());
            case "text" -> text(i, shape.asInt());
            case "random" -> random(shape.asInt());
            case "random_between" -> random(between(shape.get(0).asInt(), shape.get(1).asInt()));
            case "bytes" -> Bytes.parse(shape);
            default -> throw new IllegalArgumentException("unknown pattern " + pattern);
        };
    }

    /** The most bytes that a key or value of these patterns has. */
    int largest() {
        int largest = 0;
        for (JsonNode pattern : patterns) {
            if (!pattern.isTextual()) {
                String kind = pattern.fieldNames().next();
                JsonNode shape = pattern.get(kind);
                largest = Math.max(largest, switch (kind) {
                    case "numbered" -> shape.get("size").asInt();
                    case "random_between" -> shape.get(1).asInt();
                    case "bytes" -> Bytes.parse(shape).length;
                    default -> shape.asInt();
                });
            }
        }
        return largest;
    }

    private static byte[] numbered(long number, int size) {
        byte[] digits = Long.toString(number).getBytes(StandardCharsets.US_ASCII);
        if (digits.length > size) {
            throw new IllegalArgumentException("number " + number + " does not fit into " + size + " bytes");
        }
        byte[] padded = "0".repeat(size).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(digits, 0, padded, size - digits.length, digits.length);
        return padded;
    }

    /** Looks like the JSON of real events, since that is how well records compress; cut at the size, so it need not parse. */
    private byte[] text(long i, int size) {
        StringBuilder text = new StringBuilder(size + 128);
        while (text.length() < size) {
            text.append("{\"id\":").append(i)
                .append(",\"user\":\"u").append(Long.remainderUnsigned(step(), 1_000_000))
                .append("\",\"action\":\"").append(ACTIONS[(int) Long.remainderUnsigned(step(), ACTIONS.length)])
                .append("\",\"amount\":").append(Long.remainderUnsigned(step(), 100_000))
                .append(",\"reference\":\"").append(Long.toHexString(step())).append("\"}");
        }
        text.setLength(size);
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }

    private byte[] random(int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i += Long.BYTES) {
            long word = step();
            for (int j = i; j < Math.min(i + Long.BYTES, size); j++, word >>>= 8) {
                bytes[j] = (byte) word;
            }
        }
        return bytes;
    }

    private int between(int least, int most) {
        return least + (int) Long.remainderUnsigned(step(), most - least + 1L);
    }

    private long step() {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        return state;
    }
}
