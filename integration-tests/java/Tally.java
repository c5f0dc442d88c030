import com.fasterxml.jackson.annotation.JsonProperty;

/** How many records, how many bytes, and a checksum that two readers of the same log agree on. */
final class Tally {
    @JsonProperty
    long records;

    @JsonProperty("key_bytes")
    long keyBytes;

    @JsonProperty("value_bytes")
    long valueBytes;

    private long offsets;

    /** A length is that of a key or value, 0 for null. */
    void add(long offset, int keyLength, int valueLength) {
        records++;
        keyBytes += keyLength;
        valueBytes += valueLength;
        offsets += offset;
    }

    void addAll(Tally other) {
        records += other.records;
        keyBytes += other.keyBytes;
        valueBytes += other.valueBytes;
        offsets += other.offsets;
    }

    /** The 64-bit sum, wrapping, of all offsets + 31 x all key lengths + 1,000,003 x all value lengths. */
    @JsonProperty
    String checksum() {
        return Long.toUnsignedString(offsets + 31 * keyBytes + 1_000_003 * valueBytes);
    }

    static int length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }
}
