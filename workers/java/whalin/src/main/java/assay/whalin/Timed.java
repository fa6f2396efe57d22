package assay.whalin;

import assay.drivers.Serialisation;
import com.schooner.MemCached.ObjectTransCoder;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** Objects, by the client's own serialisation or by ours, and what it costs. */
final class Timed extends ObjectTransCoder {
    private final Serialisation serialisation;

    Timed(Serialisation serialisation) {
        this.serialisation = serialisation;
    }

    @Override
    public void encode(OutputStream out, Object item) throws IOException {
        serialisation.serialise(() -> {
            if (serialisation.custom)
                out.write(Serialisation.encode(item));
            else
                super.encode(out, item);
            return null;
        });
    }

    @Override
    public Object decode(InputStream in) throws IOException {
        return serialisation.deserialise(() -> serialisation.custom ? Serialisation.decode(in.readAllBytes()) : super.decode(in));
    }

    @Override
    public Object decode(InputStream in, ClassLoader loader) throws IOException {
        return serialisation.deserialise(() -> serialisation.custom ? Serialisation.decode(in.readAllBytes()) : super.decode(in, Timed.class.getClassLoader()));
    }
}
