package assay.worker;

/** A prepared phase. Its trace stays mapped until close: it proves the versions of later reads. */
final class Phase {
    static final int NUMBER_MAX = 255;

    final String name;
    final int number;
    final Trace trace;
    final Counters counters;
    final History history; // null: nothing is recorded
    final KeyShape keys;
    final ValuePool pool;
    final RecordShape record; // null: values without columns
    final int valueBytesMax;
    final boolean zeroVersions;
    final boolean verify;
    final long loadedRecords;
    final long mustHitBelow;
    final long deadlineNs; // 0: none

    Phase(Fields fields, Session session) throws Refusal {
        name = fields.text("phase");
        long told = fields.integer("number");
        String tracePath = fields.text("trace"), countersPath = fields.text("counters"), historyPath = fields.text("history");
        String clock = fields.text("clock");
        Fields keyFields = fields.object("keys"), valueFields = fields.object("values");
        zeroVersions = fields.bool("zero_versions");
        verify = fields.bool("verify");
        loadedRecords = fields.word("loaded_records");
        mustHitBelow = fields.word("must_hit_below");
        deadlineNs = fields.integer("deadline_ns");
        fields.end();
        if (told < 0 || told > NUMBER_MAX)
            throw Refusal.badRequest("phase number out of 0 to %d", NUMBER_MAX);
        number = (int) told;
        if (session.phases[number] != null)
            throw Refusal.badRequest("phase number %d was used before", number);
        if (!clock.equals("auto") && !clock.equals("monotonic"))
            throw Refusal.badRequest(clock.equals("tsc") ? "Java can't read the time-stamp counter: expected auto or monotonic"
                    : "unknown clock \"%s\": expected auto or monotonic", clock);
        keys = new KeyShape(keyFields);
        pool = new ValuePool(valueFields);
        record = session.definition == null ? null : session.definition.record;
        trace = Trace.map(tracePath);
        if (trace.threads > session.threads)
            throw Refusal.badRequest("trace of %d threads, but the store was opened for %d", trace.threads, session.threads);
        session.abilities.check(trace, session.driverName());
        checkRecord();
        valueBytesMax = record != null ? record.bytesMax : pool.lengthMax;
        if (record == null)
            checkLengths();
        counters = Counters.map(countersPath, trace);
        if (trace.has(Trace.FLAG_HISTORY) == historyPath.isEmpty())
            throw Refusal.badRequest("a trace with recorded entries and a history file belong together");
        history = historyPath.isEmpty() ? null : History.map(historyPath, trace.threads);
    }

    private void checkRecord() throws Refusal {
        if (record != null && record.proof >= 0 && record.columns[record.proof].proofBytes > pool.lengthMax)
            throw Refusal.badRequest("the proof column is longer than length_max");
    }

    private void checkLengths() throws Refusal {
        trace.each(entry -> {
            if (Operation.puts(Operation.of(entry)) && Integer.compareUnsigned(trace.amount(entry), pool.lengthMax) > 0)
                throw Refusal.badRequest("a value in the trace is longer than length_max");
        });
    }
}
