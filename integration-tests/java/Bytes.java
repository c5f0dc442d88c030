import com.fasterxml.jackson.databind.JsonNode;

/** Bytes in JSON: an array of numbers from 0 to 255, or null. */
final class Bytes {
    private Bytes() {}

    static byte[] parse(JsonNode node) {
        if (node.isNull()) {
            return null;
        }
        byte[] bytes = new byte[node.size()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) node.get(i).asInt();
        }
        return bytes;
    }

    static int[] format(byte[] bytes) {
        if (bytes == null) {
            return null;
        }
        int[] numbers = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            numbers[i] = Byte.toUnsignedInt(bytes[i]);
        }
        return numbers;
    }
}
