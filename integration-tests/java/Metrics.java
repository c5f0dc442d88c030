import com.fasterxml.jackson.databind.JsonNode;
import java.util.Map;
import java.util.TreeMap;
import javax.management.AttributeNotFoundException;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;

/** Numbers that a broker keeps of itself, over JMX. */
final class Metrics {
    /** Per MBean that fits the pattern and has the attribute: its value. One that is not finite is left out. */
    Object read(JsonNode arguments, Deadline deadline) throws Exception {
        ObjectName pattern = new ObjectName(arguments.get("pattern").asText());
        String attribute = arguments.get("attribute").asText();
        JMXServiceURL url = new JMXServiceURL("service:jmx:rmi:///jndi/rmi://127.0.0.1:" + arguments.get("port").asInt() + "/jmxrmi");
        Map<String, Double> values = new TreeMap<>();
        // a connection per reading: brokers of these tests die and come back on the same port
        try (JMXConnector connector = JMXConnectorFactory.connect(url)) {
            MBeanServerConnection beans = connector.getMBeanServerConnection();
            for (ObjectName name : beans.queryNames(pattern, null)) {
                try {
                    Object value = beans.getAttribute(name, attribute);
                    if (!(value instanceof Number)) {
                        throw new IllegalArgumentException(attribute + " of " + name + " is no number but " + value);
                    }
                    double number = ((Number) value).doubleValue();
                    if (Double.isFinite(number)) { // a mean of nothing is NaN, which JSON cannot say
                        values.put(name.getCanonicalName(), number);
                    }
                } catch (InstanceNotFoundException | AttributeNotFoundException gone) {
                    // between the query and the reading, or a bean with other attributes under the same pattern
                }
            }
        }
        return values;
    }
}
