package assay.worker;

/** Why a request was not done: its class and message are those of the reply. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;
    static final String BAD_REQUEST = "bad_request";
    static final String REFUSED = "refused";
    static final String FAILED = "failed";

    final String errorClass;

    private Refusal(String errorClass, String message) {
        super(message);
        this.errorClass = errorClass;
    }

    static Refusal badRequest(String format, Object... arguments) {
        return new Refusal(BAD_REQUEST, String.format(format, arguments));
    }

    static Refusal refused(String format, Object... arguments) {
        return new Refusal(REFUSED, String.format(format, arguments));
    }

    static Refusal failed(String format, Object... arguments) {
        return new Refusal(FAILED, String.format(format, arguments));
    }

    /** What a driver threw when it was asked to do something. */
    static Refusal of(String what, Throwable thrown) {
        if (thrown instanceof assay.driver.RefusedException)
            return new Refusal(REFUSED, what + ": " + thrown.getMessage());
        return new Refusal(FAILED, what + ": " + Messages.of(thrown));
    }
}
