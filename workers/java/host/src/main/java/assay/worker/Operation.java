package assay.worker;

/** The operation codes of section 2.4, and what an entry says. */
final class Operation {
    static final int READ = 1;
    static final int INSERT = 2;
    static final int UPDATE = 3;
    static final int UPSERT = 4;
    static final int DELETE = 5;
    static final int SCAN = 6;
    static final int BATCH = 7;
    static final int READ_MODIFY_WRITE = 8;
    static final int COMPARE_AND_SWAP = 9;
    static final int ADD = 10;
    static final int QUERY = 11;
    static final int COUNT = 12;
    static final int MODIFY = 13;
    static final int REQUEST = 14;
    static final int INCREMENT = 15;
    static final int DELETE_QUERY = 16;
    static final int END = 17;
    static final int CODES = 32;

    static final long RECORDED = 1L << 63;
    static final long MEMBER = 1L << 62;
    static final long GROWS = 1L << 61;
    static final long INDEX = (1L << 48) - 1;

    private static final String[] NAMES = {null, "read", "insert", "update", "upsert", "delete", "scan", "batch", "read_modify_write",
        "compare_and_swap", "add", "query", "count", "modify", "request", "increment", "delete_query"};

    private Operation() {}

    static String name(int operation) {
        return operation > 0 && operation < END ? NAMES[operation] : "unknown operation";
    }

    static int of(long entry) {
        return (int) (entry >>> 56) & 31;
    }

    static int sizeClass(long entry) {
        return (int) (entry >>> 48) & 0xff;
    }

    /** Does it put a whole value, of the length that its size class gives? */
    static boolean puts(int operation) {
        return (operation >= INSERT && operation <= UPSERT) || (operation >= READ_MODIFY_WRITE && operation <= ADD);
    }

    /** Does it leave its version with the key? */
    static boolean writes(int operation) {
        return puts(operation) || operation == MODIFY;
    }

    /** A question about records: its size class gives a query's number. */
    static boolean asks(int operation) {
        return operation == QUERY || operation == COUNT || operation == DELETE_QUERY;
    }

    /** Does it look for records and give or count them? */
    static boolean finds(int operation) {
        return operation == SCAN || operation == QUERY || operation == COUNT;
    }

    static boolean isAboutOneKey(int operation) {
        return operation == READ || operation == DELETE || operation == INCREMENT || writes(operation);
    }
}
