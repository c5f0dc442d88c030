import java.util.concurrent.TimeoutException;

/** How long a command may take. It guards against a cluster that hangs and never decides what a command answers. */
final class Deadline {
    interface Condition {
        /** Null when it holds, else what is still missing. */
        String missing() throws Exception;
    }

    private final long end;
    private final long limitMs;

    Deadline(long limitMs) {
        this.limitMs = limitMs;
        this.end = System.nanoTime() + limitMs * 1_000_000;
    }

    void await(String what, Condition condition) throws Exception {
        for (String missing; (missing = condition.missing()) != null; Thread.sleep(50)) {
            check(what, missing);
        }
    }

    void check(String what, String state) throws TimeoutException {
        if (System.nanoTime() > end) {
            throw new TimeoutException(what + " did not happen within " + limitMs + " ms: " + state);
        }
    }
}
