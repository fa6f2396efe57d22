package assay.worker;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What define may say: sections 1.5 and 1.6. No driver in Java answers queries yet, so a query is
 * checked here and kept nowhere: {@code prepare} refuses it by the abilities.
 */
final class Definition {
    private static final int COLUMNS_MAX = 64;
    private static final int PARTS_MAX = 64;
    private static final int QUERIES_MAX = 64;
    private static final int ALTERNATIVES_MAX = 8;
    private static final int CONDITIONS_MAX = 8;
    private static final int QUERY_LIMIT_MAX = (1 << 24) - 1;
    private static final long SPAN_MAX = 1_000_000_000_000_000_000L;

    final RecordShape record;
    final boolean hasIndexes;

    private final List<String> names = new ArrayList<>();

    Definition(Fields fields) throws Refusal {
        List<Object> columns = fields.list("columns"), indexes = fields.list("indexes"), queries = fields.list("queries");
        fields.end();
        record = readColumns(columns);
        hasIndexes = !indexes.isEmpty();
        readIndexes(indexes);
        if (queries.size() > QUERIES_MAX)
            throw Refusal.badRequest("define has %d queries, at most %d", queries.size(), QUERIES_MAX);
        for (Object query : queries)
            checkQuery(query);
    }

    List<String> names() {
        return List.copyOf(names);
    }

    private RecordShape readColumns(List<Object> list) throws Refusal {
        if (list.isEmpty() || list.size() > COLUMNS_MAX)
            throw Refusal.badRequest("define needs 1 to %d columns", COLUMNS_MAX);
        Column[] columns = new Column[list.size()];
        int[] partsLeft = {PARTS_MAX};
        for (int i = 0; i < columns.length; i++) {
            columns[i] = new Column(list.get(i), i, partsLeft);
            if (names.contains(columns[i].name))
                throw Refusal.badRequest("two columns have the name %s", columns[i].name);
            names.add(columns[i].name);
        }
        return new RecordShape(columns);
    }

    private Column column(String name, String what) throws Refusal {
        int at = names.indexOf(name);
        if (at < 0)
            throw Refusal.badRequest("%s names \"%s\", which is no column", what, name);
        return record.columns[at];
    }

    private void readIndexes(List<Object> list) throws Refusal {
        Set<String> seen = new HashSet<>();
        for (Object each : list) {
            Fields fields = new Fields("an index", each);
            Column column = column(fields.text("column"), "an index");
            String kind = fields.text("kind");
            boolean descending = fields.bool("descending"), ordered = kind.equals("ordered");
            fields.end();
            if (!ordered && !kind.equals("token"))
                throw Refusal.badRequest("index of %s: unknown kind \"%s\"", column.name, kind);
            if (descending && !ordered)
                throw Refusal.badRequest("index of %s: only an ordered index is descending", column.name);
            if (!column.type.equals("text") && !(ordered && column.type.equals("integer")))
                throw Refusal.badRequest("index of %s: %s does not go with the column's type", column.name, kind);
            if (!seen.add(column.name + " " + kind))
                throw Refusal.badRequest("two indexes of one kind on column %s", column.name);
        }
    }

    private void checkQuery(Object given) throws Refusal {
        Fields fields = new Fields("a query", given);
        fields.text("name");
        List<Object> where = fields.list("where");
        boolean sorted = fields.has("sort");
        Fields sort = fields.object("sort");
        long limit = fields.word("limit");
        List<String> columns = fields.texts("columns");
        fields.end();
        if (Long.compareUnsigned(limit, QUERY_LIMIT_MAX) > 0)
            throw Refusal.badRequest("a query finds at most %d records", QUERY_LIMIT_MAX);
        checkWhere(where);
        if (sorted)
            checkSort(sort);
        checkGiven(columns, limit);
    }

    private void checkWhere(List<Object> where) throws Refusal {
        if (where.size() > ALTERNATIVES_MAX)
            throw Refusal.badRequest("a query has at most %d alternatives", ALTERNATIVES_MAX);
        Column ranged = null;
        for (Object alternative : where) {
            List<Object> all = Fields.listOf("where", alternative);
            if (all.isEmpty() || all.size() > CONDITIONS_MAX)
                throw Refusal.badRequest("an alternative has 1 to %d conditions", CONDITIONS_MAX);
            int ranges = 0;
            for (Object condition : all) {
                Column column = checkCondition(condition);
                if (column == null)
                    continue;
                if (ranged != null && ranged != column)
                    throw Refusal.badRequest("ranges of two columns: expected those of one");
                if (++ranges > 1)
                    throw Refusal.badRequest("two ranges at once of one column");
                ranged = column;
            }
        }
    }

    /** Returns the column of a range, and otherwise null. */
    private Column checkCondition(Object given) throws Refusal {
        Fields fields = new Fields("a condition", given);
        Column column = column(fields.text("column"), "a query");
        String is = fields.text("is");
        long span = fields.word("span"), bytes = fields.word("bytes"), word = fields.word("word");
        fields.end();
        boolean text = column.type.equals("text");
        if (column.varies())
            throw Refusal.badRequest("column %s: a proof, a stamp or a counter can't be asked for: it changes with each write", column.name);
        if ((span != 0 && !is.equals("range")) || (bytes != 0 && !is.equals("prefix")) || (word != 0 && !is.equals("has")))
            throw Refusal.badRequest("a condition has a number that is another comparison's than %s", is);
        boolean fits;
        switch (is) {
            case "equal":
                return null;
            case "range":
                if (!column.type.equals("integer") || span < 1 || span > SPAN_MAX)
                    throw Refusal.badRequest("column %s: a range is of integers, and its span 1 to 10^18", column.name);
                return column;
            case "prefix":
                fits = text && bytes >= 1 && bytes <= Column.COLUMN_BYTES_MAX && column.isPlainText();
                break;
            case "has":
                fits = text && word >= 0 && word <= Column.COLUMN_BYTES_MAX && column.hasWord();
                break;
            default:
                throw Refusal.badRequest("unknown comparison \"%s\": expected equal, range, prefix or has", is);
        }
        if (!fits)
            throw Refusal.badRequest("column %s: %s does not go with its text", column.name, is);
        return null;
    }

    private void checkSort(Fields fields) throws Refusal {
        Column column = column(fields.text("column"), "a sort");
        fields.bool("descending");
        fields.end();
        if (!column.type.equals("integer"))
            throw Refusal.badRequest("sorted by %s, which is no integer: stores order texts in their own ways", column.name);
        if (column.varies())
            throw Refusal.badRequest("sorted by %s, which changes with each write", column.name);
    }

    /** What is found must tell its index. */
    private void checkGiven(List<String> given, long limit) throws Refusal {
        List<String> told = given.isEmpty() ? names : given;
        if (new HashSet<>(told).size() < told.size())
            throw Refusal.badRequest("a query gives a column twice");
        boolean proof = false, leadsBack = false, stamp = false;
        for (String name : told) {
            Column column = column(name, "a query");
            proof |= column.source == Column.Source.PROOF;
            stamp |= column.source == Column.Source.STAMP;
            leadsBack |= column.leadsBack();
        }
        if (limit > 0 && stamp && !proof)
            throw Refusal.badRequest("a stamp is given without the proof, and so can't be checked");
        if (limit > 0 && !proof && !leadsBack)
            throw Refusal.badRequest("results of a query can't be verified: give the proof, or a column whose number leads back to the index");
    }
}
