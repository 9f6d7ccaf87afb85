// The functions of surety.h as Java sees them through JNA: what they do is said there. A test holds these lines beside the header.
import com.sun.jna.IntegerType;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.Structure.FieldOrder;
import com.sun.jna.ptr.PointerByReference;

public interface Surety extends Library {
    int SURETY_OK = 0;
    int SURETY_ADD_OR_REMOVE_ONE = 0;
    int SURETY_REPLACE_ONE = 1;
    int SURETY_ZERO_OUT = 2;

    class SizeT extends IntegerType {
        private static final long serialVersionUID = 1L;

        public SizeT() {
            this(0);
        }

        public SizeT(long value) {
            super(Native.SIZE_T_SIZE, value, true);
        }
    }

    @FieldOrder({"lower", "upper"})
    class surety_enclosure extends Structure {
        public double lower;
        public double upper;
    }

    @FieldOrder({"size", "prior", "false_positive_rate", "advantage", "true_positive_rate", "accuracy", "mu"})
    class surety_risk extends Structure {
        public SizeT size = new SizeT();
        public double prior;
        public double false_positive_rate;
        public surety_enclosure advantage = new surety_enclosure();
        public surety_enclosure true_positive_rate = new surety_enclosure();
        public surety_enclosure accuracy = new surety_enclosure();
        public surety_enclosure mu = new surety_enclosure();

        public surety_risk() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"first_draws", "second_draws", "first_trimmed", "second_trimmed", "first_mean", "second_mean", "t", "trimmed_z"})
    class surety_time_contrast extends Structure {
        public long first_draws;
        public long second_draws;
        public long first_trimmed;
        public long second_trimmed;
        public double first_mean;
        public double second_mean;
        public double t;
        public double trimmed_z;
    }

    @FieldOrder({"size", "seconds", "most_draws", "draws", "trimmed", "mean", "correlation", "tail", "magnitude", "zero", "sign", "verdict"})
    class surety_timing extends Structure {
        public SizeT size = new SizeT();
        public double seconds;
        public long most_draws;
        public long draws;
        public long trimmed;
        public double mean;
        public double correlation;
        public surety_time_contrast tail = new surety_time_contrast();
        public surety_time_contrast magnitude = new surety_time_contrast();
        public surety_time_contrast zero = new surety_time_contrast();
        public surety_time_contrast sign = new surety_time_contrast();
        public long verdict;

        public surety_timing() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "value", "failing", "epsilon", "gap"})
    class surety_solution extends Structure {
        public SizeT size = new SizeT();
        public double value;
        public double failing;
        public surety_enclosure epsilon = new surety_enclosure();
        public double gap;

        public surety_solution() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "fill", "context", "vouched_for"})
    class surety_bits extends Structure {
        public SizeT size = new SizeT();
        public Pointer fill;
        public Pointer context;
        public int vouched_for;

        public surety_bits() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "scale", "sensitivity", "dimension", "step", "adjacency", "bits"})
    class surety_noise_options extends Structure {
        public SizeT size = new SizeT();
        public double scale;
        public double sensitivity;
        public SizeT dimension = new SizeT();
        public double step;
        public int adjacency;
        public Pointer bits;

        public surety_noise_options() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "bits", "progress", "should_stop", "context"})
    class surety_run_options extends Structure {
        public SizeT size = new SizeT();
        public Pointer bits;
        public Pointer progress;
        public Pointer should_stop;
        public Pointer context;

        public surety_run_options() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "epsilon", "delta", "filter", "order"})
    class surety_budget extends Structure {
        public SizeT size = new SizeT();
        public double epsilon;
        public double delta;
        public Pointer filter;
        public double order;

        public surety_budget() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "name", "most", "each_without_name"})
    class surety_unit extends Structure {
        public SizeT size = new SizeT();
        public Pointer name;
        public long most;
        public int each_without_name;

        public surety_unit() {
            size = new SizeT(size());
        }
    }

    @FieldOrder({"size", "epsilon", "delta"})
    class surety_promise extends Structure {
        public SizeT size = new SizeT();
        public double epsilon;
        public double delta;

        public surety_promise() {
            size = new SizeT(size());
        }
    }

    Pointer surety_failure_message(Pointer failure);
    int surety_failure_code(Pointer failure);
    void surety_failure_free(Pointer failure);
    int surety_abi_version();
    Pointer surety_version();
    void surety_free(Pointer text);
    int surety_event_parse(byte[] text, SizeT length, int adjacency, PointerByReference event, PointerByReference failure);
    int surety_event_parse_json(byte[] text, SizeT length, PointerByReference event, PointerByReference failure);
    void surety_event_free(Pointer event);
    int surety_event_adjacency(Pointer event);
    int surety_event_text(Pointer event, PointerByReference text, Pointer length, PointerByReference failure);
    int surety_event_json(Pointer event, PointerByReference text, Pointer length, PointerByReference failure);
    int surety_use_memory_reserve(PointerByReference failure);
    int surety_limit_questions(double seconds, Pointer is_called_off, Pointer context, PointerByReference failure);
    int surety_epsilon(
        Pointer event, double delta, double width, surety_enclosure epsilon, PointerByReference accountant, PointerByReference failure);
    int surety_delta(
        Pointer event, double epsilon, double width, surety_enclosure delta, PointerByReference accountant, PointerByReference failure);
    int surety_event_explain(
        Pointer event, int question, double at, double width, PointerByReference json, Pointer length, PointerByReference failure);
    int surety_curve(Pointer event, double[] epsilons, SizeT count, double width, double[] deltas, PointerByReference failure);
    int surety_tradeoff(
        Pointer event, double[] false_positive_rates, SizeT count, double width, double[] false_negative_rates, PointerByReference failure);
    int surety_event_risk(Pointer event, double width, surety_risk risk, PointerByReference failure);
    int surety_solve(byte[] event, SizeT length, byte[] name, SizeT name_length, int adjacency, double epsilon, double delta, double width,
        surety_solution solution, PointerByReference solved, PointerByReference failure);
    int surety_gaussian_create(surety_noise_options options, PointerByReference noise, PointerByReference failure);
    int surety_laplace_create(surety_noise_options options, PointerByReference noise, PointerByReference failure);
    int surety_k_norm_create(surety_noise_options options, int norm, PointerByReference noise, PointerByReference failure);
    int surety_generalized_gaussian_create(surety_noise_options options, double r, PointerByReference noise, PointerByReference failure);
    int surety_discrete_gaussian_create(surety_noise_options options, PointerByReference noise, PointerByReference failure);
    int surety_discrete_laplace_create(surety_noise_options options, PointerByReference noise, PointerByReference failure);
    int surety_truncated_geometric_create(
        surety_noise_options options, long lowest, long highest, PointerByReference noise, PointerByReference failure);
    int surety_binomial_create(surety_noise_options options, long flips, PointerByReference noise, PointerByReference failure);
    int surety_skellam_create(surety_noise_options options, double mean, PointerByReference noise, PointerByReference failure);
    void surety_noise_free(Pointer noise);
    int surety_noise_event(Pointer noise, PointerByReference event, PointerByReference failure);
    double surety_noise_step(Pointer noise);
    int surety_release_double(Pointer noise, double[] values, SizeT count, PointerByReference failure);
    int surety_release_float(Pointer noise, float[] values, SizeT count, PointerByReference failure);
    int surety_release_int64(Pointer noise, long[] values, SizeT count, PointerByReference failure);
    int surety_release_sum_double(Pointer noise, double[] rows, SizeT count, SizeT columns, double clip, double[] sum,
        PointerByReference failure);
    int surety_release_sum_float(Pointer noise, float[] rows, SizeT count, SizeT columns, double clip, double[] sum,
        PointerByReference failure);
    int surety_release_sum_int64(Pointer noise, long[] rows, SizeT count, SizeT columns, double clip, long[] sum,
        PointerByReference failure);
    int surety_check_timing(Pointer draw, Pointer context, surety_timing timing, PointerByReference failure);
    int surety_noise_check_timing(Pointer noise, surety_timing timing, PointerByReference failure);
    int surety_ledger_create(
        String path, int adjacency, surety_budget budget, surety_unit unit, PointerByReference ledger, PointerByReference failure);
    int surety_ledger_open(String path, PointerByReference ledger, PointerByReference failure);
    void surety_ledger_free(Pointer ledger);
    int surety_ledger_reserve(Pointer ledger, Pointer event, surety_promise promise, byte[] note, SizeT note_length,
        PointerByReference reservation, PointerByReference failure);
    int surety_ledger_settle(Pointer ledger, long run, Pointer released, int adaptive, PointerByReference failure);
    int surety_ledger_audit(Pointer ledger, double delta, PointerByReference json, Pointer length, PointerByReference failure);
    int surety_reservation_spend(Pointer reservation, Pointer event, PointerByReference failure);
    int surety_reservation_release_double(
        Pointer reservation, Pointer noise, double[] values, SizeT count, PointerByReference failure);
    int surety_reservation_release_float(
        Pointer reservation, Pointer noise, float[] values, SizeT count, PointerByReference failure);
    int surety_reservation_release_int64(
        Pointer reservation, Pointer noise, long[] values, SizeT count, PointerByReference failure);
    int surety_reservation_release_sum_double(Pointer reservation, Pointer noise, double[] rows, SizeT count, SizeT columns,
        double clip, double[] sum, PointerByReference failure);
    int surety_reservation_release_sum_float(Pointer reservation, Pointer noise, float[] rows, SizeT count, SizeT columns,
        double clip, double[] sum, PointerByReference failure);
    int surety_reservation_release_sum_int64(Pointer reservation, Pointer noise, long[] rows, SizeT count, SizeT columns,
        double clip, long[] sum, PointerByReference failure);
    int surety_reservation_settle(Pointer reservation, int adaptive, PointerByReference failure);
    long surety_reservation_run(Pointer reservation);
    void surety_reservation_free(Pointer reservation);
    int surety_job_prepare(byte[] json, SizeT length, PointerByReference job, PointerByReference failure);
    void surety_job_free(Pointer job);
    int surety_job_event(Pointer job, PointerByReference event, PointerByReference failure);
    double surety_job_noise(Pointer job);
    int surety_job_cost(Pointer job, surety_enclosure epsilon, double[] delta, PointerByReference failure);
    int surety_job_json(Pointer job, PointerByReference json, Pointer length, PointerByReference failure);
    int surety_job_run(Pointer job, String path, Pointer ledger, surety_run_options options, PointerByReference result,
        PointerByReference failure);
    int surety_job_run_arrow(Pointer job, Pointer records, Pointer ledger, surety_run_options options, PointerByReference result,
        PointerByReference failure);
    void surety_result_free(Pointer result);
    int surety_result_json(Pointer result, PointerByReference json, Pointer length, PointerByReference failure);
    int surety_result_arrow(Pointer result, Pointer stream, PointerByReference failure);
    int surety_result_model(Pointer result, PointerByReference model, PointerByReference failure);
    int surety_parts_begin(byte[] json, SizeT json_length, int parts, Pointer ledger, surety_run_options options,
        PointerByReference ticket, Pointer ticket_length, PointerByReference failure);
    int surety_parts_partial(byte[] ticket, SizeT ticket_length, int part, String path, PointerByReference partial,
        Pointer partial_length, PointerByReference failure);
    int surety_parts_partial_arrow(byte[] ticket, SizeT ticket_length, int part, Pointer records, PointerByReference partial,
        Pointer partial_length, PointerByReference failure);
    int surety_parts_merge(byte[] a, SizeT a_length, byte[] b, SizeT b_length, PointerByReference merged,
        Pointer merged_length, PointerByReference failure);
    int surety_parts_finish(byte[] ticket, SizeT ticket_length, byte[] partial, SizeT partial_length, Pointer ledger,
        surety_run_options options, PointerByReference result, PointerByReference failure);
    int surety_write_private_file(String path, byte[] bytes, SizeT length, PointerByReference failure);
    int surety_model_load(String path, PointerByReference model, PointerByReference failure);
    int surety_model_parse(byte[] text, SizeT length, PointerByReference model, PointerByReference failure);
    void surety_model_free(Pointer model);
    int surety_model_save(Pointer model, String path, PointerByReference failure);
    int surety_model_json(Pointer model, PointerByReference json, Pointer length, PointerByReference failure);
    int surety_model_predict(Pointer model, String path, Pointer say, Pointer context, PointerByReference failure);
    int surety_model_predict_arrow(Pointer model, Pointer records, Pointer say, Pointer context, PointerByReference failure);
}
