package assay.driver;

/** A client or engine. Its class is public, with a public constructor that takes nothing. */
public interface Driver {
    /** Says what the driver is; no store need be reachable. */
    Description describe();

    /** The type of its handles: the abilities follow from the interfaces that it implements. */
    Class<? extends Handle> handleType();

    /** The type of its stores, likewise. */
    default Class<? extends Store> storeType() {
        return Store.class;
    }

    /** Opens the store. Throws a {@link RefusedException} where it can't do what config asks. */
    Store open(Config config) throws Exception;
}
