package assay.drivers;

import java.io.Serializable;

/** An object that holds a value: what a program stores whose client serialises for it. */
public final class Item implements Serializable {
    private static final long serialVersionUID = 1;

    public final byte[] value;

    public Item(byte[] value) {
        this.value = value;
    }
}
