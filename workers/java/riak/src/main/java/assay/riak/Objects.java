package assay.riak;

import assay.driver.Bytes;
import assay.driver.Handle;
import assay.driver.Status;
import com.basho.riak.client.api.RiakClient;
import com.basho.riak.client.api.RiakCommand;
import com.basho.riak.client.api.cap.Quorum;
import com.basho.riak.client.api.cap.VClock;
import com.basho.riak.client.api.commands.kv.DeleteValue;
import com.basho.riak.client.api.commands.kv.FetchValue;
import com.basho.riak.client.api.commands.kv.StoreValue;
import com.basho.riak.client.core.operations.PingOperation;
import com.basho.riak.client.core.query.Location;
import com.basho.riak.client.core.query.Namespace;
import com.basho.riak.client.core.query.RiakObject;
import com.basho.riak.client.core.util.BinaryValue;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/** A handle: a client with a pool to one node, which threads may share. */
final class Objects implements Handle {
    static final String BUCKET = "assay";
    static final int KEY_BYTES_MAX = 32 << 10; // bitcask has 16 bits for a bucket and a key
    static final int VALUE_BYTES_MAX = (50 << 20) - (64 << 10); // object.size.maximum, less what describes it

    private static final Namespace NAMESPACE = new Namespace(BUCKET);

    /** What a thread got last: whoever writes it next tells the server which version it saw. */
    private static final class Seen {
        BinaryValue key;
        VClock clock;

        VClock take(BinaryValue asked) {
            VClock known = asked.equals(key) ? clock : null;
            key = null;
            return known;
        }
    }

    private final ThreadLocal<Seen> seen = ThreadLocal.withInitial(Seen::new);
    private final RiakClient client;
    private final Map<String, Quorum> quorums;
    private final boolean failsOnSiblings;
    private final long timeoutMs;
    private final AtomicLong siblings;

    Objects(RiakClient client, Map<String, Quorum> quorums, boolean failsOnSiblings, long timeoutMs, AtomicLong siblings) {
        this.client = client;
        this.quorums = quorums;
        this.failsOnSiblings = failsOnSiblings;
        this.timeoutMs = timeoutMs;
        this.siblings = siblings;
    }

    void connect() throws Exception {
        PingOperation ping = new PingOperation();
        client.getRiakCluster().execute(ping);
        if (!ping.await(timeoutMs, TimeUnit.MILLISECONDS))
            throw new TimeoutException("connect");
        if (!ping.isSuccess())
            throw ping.cause() instanceof Exception cause ? cause : new IOException(ping.cause());
    }

    private <T, S> T execute(RiakCommand<T, S> command) throws Exception {
        try {
            return client.execute(command, timeoutMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            throw RiakDriver.told(e);
        }
    }

    private static BinaryValue key(Bytes key) throws IOException {
        if (key.length == 0 || key.length > KEY_BYTES_MAX)
            throw new IOException("a key has 1 to " + KEY_BYTES_MAX + " bytes");
        return BinaryValue.unsafeCreate(key.toArray());
    }

    @Override
    public Status get(Bytes key, Bytes value) throws Exception {
        Seen last = seen.get();
        last.key = null;
        BinaryValue name = key(key);
        FetchValue.Builder asked = new FetchValue.Builder(new Location(NAMESPACE, name)).withOption(FetchValue.Option.DELETED_VCLOCK, true);
        if (quorums.containsKey("r"))
            asked.withOption(FetchValue.Option.R, quorums.get("r"));
        if (quorums.containsKey("pr"))
            asked.withOption(FetchValue.Option.PR, quorums.get("pr"));
        FetchValue.Response found = execute(asked.build());
        if (found.isNotFound() || !found.hasValues())
            return Status.MISS;
        last.key = name;
        last.clock = found.getVectorClock();
        RiakObject newest = null;
        int count = 0;
        for (RiakObject each : found.getValues()) {
            if (newest == null || each.getLastModified() > newest.getLastModified())
                newest = each;
            count++;
        }
        siblings.addAndGet(count - 1);
        if (count > 1 && failsOnSiblings)
            throw new IOException("the record has siblings");
        if (newest == null || newest.isDeleted())
            return Status.MISS;
        value.set(newest.getValue() == null ? new byte[0] : newest.getValue().unsafeGetValue());
        return Status.OK;
    }

    @Override
    public Status put(Bytes key, Bytes value) throws Exception {
        BinaryValue name = key(key);
        VClock clock = seen.get().take(name);
        if (value.length > VALUE_BYTES_MAX)
            throw new IOException("the value is longer than " + VALUE_BYTES_MAX + " bytes");
        RiakObject object = new RiakObject().setValue(BinaryValue.unsafeCreate(value.toArray())).setContentType("application/octet-stream");
        StoreValue.Builder asked = new StoreValue.Builder(object).withLocation(new Location(NAMESPACE, name));
        if (clock != null)
            asked.withVectorClock(clock);
        if (quorums.containsKey("w"))
            asked.withOption(StoreValue.Option.W, quorums.get("w"));
        if (quorums.containsKey("dw"))
            asked.withOption(StoreValue.Option.DW, quorums.get("dw"));
        if (quorums.containsKey("pw"))
            asked.withOption(StoreValue.Option.PW, quorums.get("pw"));
        execute(asked.build());
        return Status.OK;
    }

    @Override
    public Status delete(Bytes key) throws Exception {
        BinaryValue name = key(key);
        seen.get().key = null;
        DeleteValue.Builder asked = new DeleteValue.Builder(new Location(NAMESPACE, name));
        if (quorums.containsKey("r"))
            asked.withOption(DeleteValue.Option.R, quorums.get("r"));
        if (quorums.containsKey("pr"))
            asked.withOption(DeleteValue.Option.PR, quorums.get("pr"));
        if (quorums.containsKey("w"))
            asked.withOption(DeleteValue.Option.W, quorums.get("w"));
        if (quorums.containsKey("dw"))
            asked.withOption(DeleteValue.Option.DW, quorums.get("dw"));
        if (quorums.containsKey("pw"))
            asked.withOption(DeleteValue.Option.PW, quorums.get("pw"));
        execute(asked.build());
        return Status.OK;
    }

    @Override
    public void close() throws Exception {
        client.shutdown().get(timeoutMs, TimeUnit.MILLISECONDS);
    }
}
