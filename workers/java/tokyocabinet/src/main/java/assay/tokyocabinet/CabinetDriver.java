package assay.tokyocabinet;

import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Store;
import tokyocabinet.DBM;

/** What the drivers of Tokyo Cabinet's databases have in common. */
abstract class CabinetDriver implements Driver {
    static Description describe(Description d) {
        return d.library("com.fizzed:tokyocabinet-api", DBM.class, "LGPL-2.1-or-later")
                .set("handles_shareable", true)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", Database.KEY_BYTES_MAX)
                .set("value_bytes_max", Database.VALUE_BYTES_MAX);
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Database.Access.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return Database.class;
    }
}
