import java.io.StringReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigException;

/**
 * Writes the files next to it, against which the configuration is tested: what the Java client and the JDK make of keys, values,
 * .properties text and durations. To be run with kafka-clients 4.4.0 on the class path and this folder as its argument:
 * java -cp 'libs/*' ConfigOracle.java .
 */
public class ConfigOracle {
    /** Values offered to every key. The order is that of the marks in keys.tsv. */
    static final List<String> VALUES = List.of(
        "", " ", "0", "1", "-1", "-2", "+5", " 7 ", "100", "900", "901", "3600", "3601", "2147483647", "2147483648",
        "9223372036854775807", "9223372036854775808", "0.5", "1.5", "1e3", "0x10", "5 0", "true", " TRUE ", "yes",
        "none", "NONE", "latest", "read_committed", "READ_COMMITTED", "consumer", "Consumer", "SSL", "ssl", "INFO", "info",
        "a,b", "a,,b", "a , b", "x y", "a:9092", "use_all_dns_ips");

    static final List<String> PROPERTIES = List.of(
        "", "a=1", "a:1", "a 1", "a\t1", "a\f1", "a = 1", "a : 1", "a==1", "a=:1", "a= =1", "a  =  1  ", "  a=1", "\t\fa=1",
        "a", "a=", "a:", "a ", "=1", ":1", "# a=1\nb=2", "! a=1\nb=2", "  # a=1\nb=2", "a=# 1", "a=1 # 2", "a=1\r\nb=2\rc=3\n\n\n",
        "a=1\\\n2", "a=1\\\n   2", "a=1\\\r\n  2", "a=1\\\r  2", "a=1\\\n\n b=2", "a=1\\\n# 2", "# a\\\nb=2", "a=1\\\\\nb=2", "a=1\\\\\\\n2", "a=1\\",
        "a=1\\\n", "a\\\n  b=1", "a\\=b=1", "a\\:b=1", "a\\ b=1", "a\\#b=1", "\\#a=1", "a=\\t\\n\\r\\f", "a=\\q\\'\\\"\\ ", "a=\\0", "a=\\u0041\\u00e9\\u4E2d",
        "\\u0061=1", "a=\\u0020", "a=\\u0020 x", "a=\\uD83D\\uDE00", "a=\\uD83D", "a=\\uDE00x", "a=\\uD83Dx", "a=\\uD83D\\u0041", "a=\\u00", "a=\\u00g0", "a=\\u", "a=\\U0041",
        "a=1\na=2", "a=é中😀", "é=1", "\u00a0a=1", "a\u00a0=1", "a=1\u0085b=2", "a=1\u2028b=2", "a=1\0b", " \n\t\n a=1", "a=1\\\n   \nb=2", "a=1\\\n \\\n 2",
        "a\\", "\\", "\\\n", "\\\na=1", "a=x\\\ty", "key with spaces=1", "a\n=1", "a\\\n=1", "a \\\n = \\\n 1", "a=b=c:d e", "a=[{\"x\": 1}]",
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n  username=\"u\" \\\n  password=\"p\\\\u\";");

    static final List<String> DURATIONS = List.of(
        "PT0S", "PT1S", "PT1H", "PT24H", "PT1M", "P1D", "P0D", "P1DT1H", "P1DT2H3M4.5S", "P2DT3H4M", "PT20.345S", "PT0.000000001S", "PT0.0000000001S",
        "PT1.S", "PT1,5S", "PT.5S", "pt1h", "p1dt2h", "+PT1H", "-PT1H", "-PT-1H", "PT-1H", "PT+1H", "PT1H-30M", "PT-30M1H", "PT1H-90M", "P-1DT25H", "PT-0.5S",
        "PT1M-0.5S", "-PT-6H+3M", "P", "PT", "P1DT", "T1H", "1H", "", " PT1H", "PT1H ", "P1Y", "P1M", "P1W", "P1H", "PT1D", "PT1S1M", "PT1H1H", "PT1.5H", "P1.5D",
        "PT9223372036854775807S", "PT9223372036854775808S", "PT9223372036854775807H", "PT2562047788015215H", "PT2562047788015216H", "P106751991167300D",
        "P106751991167301D", "PT9223372036854775807.999999999S", "PT00001S", "P1DT-24H", "PT--1H", "P+", "P+DT1H", "PT1h2m3s", "P1DT1", "PTS", "PT1\u0661S", "PT1Z");

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Files.write(folder.resolve("keys.tsv"), keys());
        Files.write(folder.resolve("properties.jsonl"), properties());
        Files.write(folder.resolve("durations.tsv"), durations());
    }

    static List<String> keys() {
        List<String> lines = new ArrayList<>();
        lines.add("# values\t" + json(VALUES));
        lines.add("# key\ttype\tdefault\tvalidator\twhich values are taken");
        new TreeMap<>(ConsumerConfig.configDef().configKeys()).values().forEach(key -> {
            boolean required = key.defaultValue == ConfigDef.NO_DEFAULT_VALUE;
            String fallback = required ? "<required>" : String.valueOf(ConfigDef.convertToString(key.defaultValue, key.type));
            StringBuilder marks = new StringBuilder();
            for (String value : VALUES) {
                try {
                    Object parsed = ConfigDef.parseType(key.name, value, key.type);
                    if (key.validator != null) key.validator.ensureValid(key.name, parsed);
                    marks.append('y');
                } catch (ConfigException e) {
                    marks.append('n');
                }
            }
            lines.add(String.join("\t", key.name, key.type.toString(), fallback, String.valueOf(key.validator), marks));
        });
        return lines;
    }

    static List<String> properties() throws Exception {
        List<String> lines = new ArrayList<>();
        for (String text : PROPERTIES) {
            String result;
            try {
                Properties read = new Properties();
                read.load(new StringReader(text));
                List<String> pairs = new ArrayList<>();
                read.stringPropertyNames().stream().sorted().forEach(name -> pairs.add(json(List.of(name, read.getProperty(name)))));
                result = "[" + String.join(",", pairs) + "]";
                // half a surrogate pair is text in Java only
                if (!StandardCharsets.UTF_8.newEncoder().canEncode(read.toString())) result = "null";
            } catch (IllegalArgumentException e) {
                result = "null";
            }
            lines.add("{\"text\":" + json(text) + ",\"pairs\":" + result + "}");
        }
        return lines;
    }

    static List<String> durations() {
        List<String> lines = new ArrayList<>();
        for (String text : DURATIONS) {
            String result;
            try {
                Duration read = Duration.parse(text);
                result = read.isNegative() ? "negative" : read.getSeconds() + "." + String.format("%09d", read.getNano());
            } catch (DateTimeParseException e) {
                result = "refused";
            }
            lines.add(json(text) + "\t" + result);
        }
        return lines;
    }

    static String json(List<String> values) {
        return "[" + String.join(",", values.stream().map(ConfigOracle::json).toList()) + "]";
    }

    static String json(String value) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : value.toCharArray()) {
            if (c == '"' || c == '\\') out.append('\\').append(c);
            else if (c < 0x20 || c > 0x7e) out.append(String.format("\\u%04x", (int) c));
            else out.append(c);
        }
        return out.append('"').toString();
    }
}
