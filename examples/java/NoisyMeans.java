// What a training costs; then the means of three columns, released three times with Gaussian noise for (epsilon, delta) = (1, 1e-6), and
// charged to a ledger. examples/c, examples/rust and examples/go do the same and print the same.
//
//   javac -cp /usr/share/java/jna.jar *.java && java -cp /usr/share/java/jna.jar:. NoisyMeans means.db
import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

public final class NoisyMeans {
    private static final int COLUMNS = 3;
    private static final int RECORDS = 1000;
    private static final int RELEASES = 3;
    private static final Surety SURETY = Native.load("surety", Surety.class);

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static Surety.SizeT size(long value) {
        return new Surety.SizeT(value);
    }

    /** A call that writes where its failure goes. */
    private interface Call {
        int run(PointerByReference failure);
    }

    private static void check(Call call) {
        PointerByReference failure = new PointerByReference();
        if (call.run(failure) == Surety.SURETY_OK) {
            return;
        }
        String message = SURETY.surety_failure_message(failure.getValue()).getString(0, "UTF-8");
        SURETY.surety_failure_free(failure.getValue());
        throw new IllegalStateException(message);
    }

    private static void run(String path) {
        // What a training costs: the truth lies between the ends.
        byte[] trainingText = bytes("repeat(1000, poisson(0.01, gaussian(1)))");
        PointerByReference training = new PointerByReference();
        Surety.surety_enclosure epsilon = new Surety.surety_enclosure();
        check(failure
            -> SURETY.surety_event_parse(trainingText, size(trainingText.length), Surety.SURETY_ADD_OR_REMOVE_ONE, training, failure));
        check(failure -> SURETY.surety_epsilon(training.getValue(), 1e-5, 0, epsilon, null, failure));
        System.out.println("epsilon " + epsilon.lower + " " + epsilon.upper);

        // The least noise that keeps the promise.
        byte[] planText = bytes("repeat(3, gaussian(z))");
        byte[] unknown = bytes("z");
        Surety.surety_promise promise = new Surety.surety_promise();
        promise.epsilon = 1;
        promise.delta = 1e-6;
        Surety.surety_solution solution = new Surety.surety_solution();
        PointerByReference plan = new PointerByReference();
        check(failure
            -> SURETY.surety_solve(planText, size(planText.length), unknown, size(1), Surety.SURETY_ZERO_OUT, promise.epsilon,
                promise.delta, 0, solution, plan, failure));
        System.out.println("multiplier " + solution.value + " " + solution.epsilon.lower + " " + solution.epsilon.upper);

        // Each record is a vector of norm at most 1, so that one of them moves their sum by at most 1.
        Surety.surety_noise_options options = new Surety.surety_noise_options();
        options.scale = solution.value;
        options.sensitivity = 1;
        options.dimension = size(COLUMNS);
        options.adjacency = Surety.SURETY_ZERO_OUT;
        PointerByReference noise = new PointerByReference();
        PointerByReference release = new PointerByReference();
        check(failure -> SURETY.surety_gaussian_create(options, noise, failure));
        check(failure -> SURETY.surety_noise_event(noise.getValue(), release, failure));

        // The charge is on disk before the noise is drawn.
        Memory name = new Memory(8);
        name.setString(0, "patient", "UTF-8");
        Surety.surety_unit unit = new Surety.surety_unit();
        unit.name = name;
        unit.most = 1;
        PointerByReference ledger = new PointerByReference();
        PointerByReference reservation = new PointerByReference();
        check(failure -> SURETY.surety_ledger_create(path, Surety.SURETY_ZERO_OUT, null, unit, ledger, failure));
        check(failure
            -> SURETY.surety_ledger_reserve(ledger.getValue(), plan.getValue(), promise, bytes("means"), size(5), reservation, failure));
        for (int turn = 0; turn < RELEASES; ++turn) {
            double[] sums = new double[COLUMNS];
            for (int i = 0; i < RECORDS; ++i) {
                sums[i % COLUMNS] += 0.5;
            }
            check(failure -> SURETY.surety_reservation_spend(reservation.getValue(), release.getValue(), failure));
            check(failure -> SURETY.surety_release_double(noise.getValue(), sums, size(COLUMNS), failure));
            System.out.printf(Locale.ROOT, "means %.4f %.4f %.4f%n", sums[0] / RECORDS, sums[1] / RECORDS, sums[2] / RECORDS);
        }
        check(failure -> SURETY.surety_reservation_settle(reservation.getValue(), 0, failure));

        PointerByReference audit = new PointerByReference();
        check(failure -> SURETY.surety_ledger_audit(ledger.getValue(), 1e-6, audit, null, failure));
        System.out.println("audit " + audit.getValue().getString(0, "UTF-8"));

        SURETY.surety_free(audit.getValue());
        SURETY.surety_reservation_free(reservation.getValue());
        SURETY.surety_ledger_free(ledger.getValue());
        SURETY.surety_noise_free(noise.getValue());
        for (PointerByReference event : new PointerByReference[] {release, plan, training}) {
            SURETY.surety_event_free(event.getValue());
        }
    }

    public static void main(String[] arguments) {
        if (arguments.length != 1) {
            System.err.println("usage: NoisyMeans LEDGER");
            System.exit(2);
        }
        try {
            run(arguments[0]);
        } catch (IllegalStateException refusal) {
            System.err.println("noisy_means: " + refusal.getMessage());
            System.exit(1);
        }
    }
}
