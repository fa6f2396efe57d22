package assay.worker;

import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Store;
import com.grack.nanojson.JsonObject;

/** What a driver can do beyond get, put and delete: its types tell. */
final class Abilities {
    final boolean batch;
    final boolean scan;
    final boolean add;
    final boolean compareAndSwap;
    final boolean sync;
    final boolean records;

    Abilities(Driver driver) {
        Class<?> handle = driver.handleType();
        batch = Handle.Batch.class.isAssignableFrom(handle);
        scan = Handle.Scan.class.isAssignableFrom(handle);
        add = Handle.Add.class.isAssignableFrom(handle);
        compareAndSwap = Handle.CompareAndSwap.class.isAssignableFrom(handle);
        records = Store.Records.class.isAssignableFrom(driver.storeType());
        sync = Store.Sync.class.isAssignableFrom(driver.storeType());
    }

    /** Every store can be inspected: the JVM's own counters are always there. */
    JsonObject told() {
        JsonObject told = new JsonObject();
        told.put("batch", batch);
        told.put("scan", scan);
        told.put("add", add);
        told.put("compare_and_swap", compareAndSwap);
        told.put("sync", sync);
        told.put("inspect", true);
        told.put("records", records);
        return told;
    }

    /** Refuses a trace with an operation that the store can't do: nothing is emulated. */
    void check(Trace trace, String driver) throws Refusal {
        for (int operation : trace.operations) {
            boolean can;
            switch (operation) {
                case Operation.SCAN:
                    can = scan;
                    break;
                case Operation.BATCH:
                    can = batch;
                    break;
                case Operation.ADD:
                    can = add;
                    break;
                case Operation.COMPARE_AND_SWAP:
                    can = compareAndSwap;
                    break;
                case Operation.QUERY:
                case Operation.COUNT:
                case Operation.DELETE_QUERY:
                case Operation.MODIFY:
                case Operation.INCREMENT:
                    can = false;
                    break;
                default:
                    can = true;
            }
            if (!can)
                throw Refusal.refused("%s has no %s", driver, Operation.name(operation));
        }
    }
}
