package assay.worker;

import assay.driver.Bytes;
import assay.driver.Handle;
import java.util.Arrays;

/** What a scan has seen so far. The records are checked as they come: they are gone afterwards. */
final class ScanCheck implements Handle.Visitor {
    private final Checker checker;
    private final FindState find; // null: what scans found is not recorded
    private final boolean verify;
    private final byte[] expected;
    private final byte[] previous;
    private int previousLength;
    private long limit;
    long seen;
    long bytes;
    String problem;

    ScanCheck(Checker checker, Phase phase, FindState find) {
        this.checker = checker;
        this.find = find;
        verify = phase.verify;
        expected = new byte[phase.keys.bytesMax() + 8];
        previous = new byte[phase.keys.bytesMax() + 8];
    }

    void begin(Bytes key, long limit) {
        this.limit = limit;
        seen = bytes = 0;
        problem = null;
        remember(key);
    }

    private void remember(Bytes key) {
        System.arraycopy(key.data, key.offset, previous, 0, key.length);
        previousLength = key.length;
    }

    @Override
    public boolean visit(Bytes key, Bytes value) {
        if (verify && problem == null) {
            problem = problemOf(key, value);
            if (find != null && find.active && problem == null && seen < limit)
                find.add(checker.scannedIndex(value));
            if (problem == null && key.length > previous.length)
                problem = "a scanned key that is longer than any of this trial";
            if (problem == null)
                remember(key);
        }
        bytes += value.length;
        seen++;
        return seen < limit;
    }

    private String problemOf(Bytes key, Bytes value) {
        int order = Arrays.compareUnsigned(key.data, key.offset, key.offset + key.length, previous, 0, previousLength);
        if (seen > 0 && order <= 0)
            return "keys of a scan do not ascend";
        if (seen == 0 && order < 0)
            return "a scan began before its first key";
        return checker.scannedProblem(key, value, expected);
    }
}
