#pragma once

#include "choices/strategy_name.h"
#include "launcher/config/mounts/mount_rows.h"
#include "launcher/config/sync/sync_rows.h"
#include "launcher/config/tables/horovod_options.h"
#include "launcher/config/tables/image_options.h"
#include "launcher/config/tables/option.h"
#include "launcher/config/tables/other_launcher_options.h"
#include "launcher/config/tables/resource_options.h"
#include "launcher/config/tables/size_options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

/// The options of `dtrain run` without those of other launchers.
inline constexpr std::array own_options = {
    Option{"np", "-np -n --np --num-proc --ntasks", OptionKind::integer, "N", OptionGroup::hosts,
           "Processes to start. Needed when no hosts are given; otherwise the sum of their slots."},
    Option{"hosts", "-H --hosts --host -host -hosts", OptionKind::list, "HOSTS", OptionGroup::hosts,
           "Hosts and their slots: [user@]host[:slots],… for example node1:4,[::1]:2; "
           "node[01-16]:8 stands for 16 hosts, @FILE for those of a hostfile. A host "
           "without slots offers its GPUs, else its CPUs. Without hosts, see --allocation."},
    Option{"hostfile", "--hostfile -hostfile --machinefile -machinefile -f", OptionKind::text,
           "FILE", OptionGroup::hosts,
           "Read the hosts from FILE, a line each, as for Horovod, Open MPI, MPICH or DeepSpeed: "
           "\"host slots=N max_slots=M\" or \"host:N\"."},
    Option{"allocation", "--allocation", OptionKind::text, "auto|none|slurm|lsf|pbs|sge|mpijob",
           OptionGroup::hosts,
           "The scheduler whose job has the hosts, where none are given. auto, the default: the "
           "first of Slurm, LSF, PBS, Grid Engine and an MPIJob in whose job dtrain runs, else "
           "this machine. none: this machine. A scheduler's name requires its job."},
    Option{"oversubscribe", "--oversubscribe", OptionKind::flag, "", OptionGroup::hosts,
           "Allow more processes than slots, shared out in proportion to the slots of each host, "
           "and up to its max_slots."},
    Option{
        "map-by", "--map-by -map-by", OptionKind::text, "slot|node|ppr:N:node", OptionGroup::hosts,
        "How processes are dealt to hosts: slot fills the slots of one host before the next; node "
        "gives one to each host in turn while slots last. slot is the default, but node where no "
        "host is given slots, with ranks by slot. ppr:N:node is --ppn N."},
    Option{"rank-by", "--rank-by -rank-by", OptionKind::text, "slot|node", OptionGroup::hosts,
           "How ranks are dealt to the processes: slot numbers those of one host before the next, "
           "as many programs expect; node numbers one on each host in turn. As --map-by, if not "
           "given."},
    Option{"ppn", "--ppn -ppn --npernode -npernode --ntasks-per-node", OptionKind::integer, "N",
           OptionGroup::hosts,
           "Processes on each host, N at most, instead of its slots; -np is then N times the "
           "hosts."},
    Option{"bind-to", "--bind-to -bind-to", OptionKind::text, "none|core|numa|auto",
           OptionGroup::hosts,
           "Bind each process to CPUs of its host: to one core, or one NUMA node; auto takes the "
           "NUMA node of its GPU, else an equal share of the cores, and binds none where there are "
           "more processes than cores. none is the default."},
    Option{"gpu-bind", "--gpu-bind", OptionKind::text, "none|rank", OptionGroup::hosts,
           "rank: each process sees the GPU of its local rank alone, by CUDA_VISIBLE_DEVICES, out "
           "of those that its host leaves it. none, the default: it sees them all and chooses by "
           "its local rank."},
    Option{"gpu-share", "--gpu-share", OptionKind::flag, "", OptionGroup::hosts,
           "For tests: ranks may share GPUs. NCCL then connects them by sockets, slowly, and "
           "--gpu-bind rank gives GPUs in turn where there are fewer than ranks. Otherwise two "
           "workers of a strategy with one GPU are an error."},
    Option{"report-bindings", "--report-bindings -report-bindings", OptionKind::flag, "",
           OptionGroup::hosts,
           "Print the CPUs, NUMA node and GPU of each rank before the start, with --dry-run too."},
    Option{"role", "--role", OptionKind::list, "NAME=COUNT[@HOSTS]", OptionGroup::hosts,
           "Start COUNT tasks of the role NAME: chief, master, worker, ps, evaluator, scheduler, "
           "server, client or any other. With @HOSTS, written as for -H, on those hosts alone. May "
           "be given again; without hosts also as chief=1,ps=2,worker=4. -np N is then the number "
           "of workers. Ranks go to chief or master first, then to the workers; other roles have "
           "an index, and no rank."},
    Option{"role-ranked", "--role-ranked", OptionKind::list, "NAME", OptionGroup::hosts,
           "Give the tasks of this role ranks, too, after those of the workers."},
    Option{"cluster-spec", "--cluster-spec", OptionKind::text, "SPEC|@FILE|none",
           OptionGroup::hosts,
           "Start this machine's tasks of the cluster SPEC, at the addresses that it gives them: "
           "'worker|h1:2222;h2:2222,ps|h3:2222', in quotes, or JSON. A dtrain on each host starts "
           "the others. Without it, and without -np, --role and hosts, TF_CONFIG is read in the "
           "same way, and its task alone started; none ignores it."},
    Option{"port-range", "--port-range", OptionKind::text, "FIRST-LAST", OptionGroup::hosts,
           "Listen between hosts at these TCP ports only: one for dtrain's rendezvous on this "
           "machine, and on each host one a task, which libdtrain has in DTRAIN_PORT, and two more "
           "on that of rank 0. check needs one here, and two on each host. Where srun starts the "
           "agents, this machine needs one more."},
    Option{
        "network-interfaces", "--network-interfaces --network-interface -iface", OptionKind::list,
        "NAMES", OptionGroup::hosts,
        "Use only these networks between the hosts: names of interfaces (eth0,ib0), or ranges of "
        "addresses (10.0.0.0/8) where their names differ. May be given again. Without it dtrain "
        "tries all addresses of all hosts, and uses those that lead from host to host."},
    Option{"ssh-port", "-p --ssh-port", OptionKind::integer, "PORT", OptionGroup::hosts,
           "The port of sshd on the hosts; wins over the ssh configuration."},
    Option{"ssh-identity-file", "-i --ssh-identity-file", OptionKind::text, "FILE",
           OptionGroup::hosts,
           "The private key to log in with. If the file is missing, the other keys are tried."},
    Option{"ssh-config", "--ssh-config", OptionKind::text, "FILE", OptionGroup::hosts,
           "Read this ssh configuration instead of ~/.ssh/config, as ssh -F.", true,
           Effect::decides, "", true},
    Option{
        "ssh", "--ssh", OptionKind::text, "auto|libssh2|openssh", OptionGroup::hosts,
        "How other hosts are reached: through libssh2 within dtrain, or through the ssh command. "
        "auto, the default, takes for each host the first that can do what the ssh "
        "configuration requires; --verbose prints which."},
    Option{"ssh-parallel", "--ssh-parallel", OptionKind::integer, "N", OptionGroup::hosts,
           "Log in to at most N hosts at once (default 64)."},
    Option{
        "rsh-agent", "--rsh-agent", OptionKind::text, "PROGRAM", OptionGroup::hosts,
        "Reach other hosts through this program instead of ssh, such as kubexec.sh. It is run as "
        "PROGRAM HOST /bin/sh, or as PROGRAM -l USER HOST /bin/sh. In an LSF job, the default is "
        "blaunch, where PATH has it.",
        true, Effect::decides, "", true},
    Option{"srun-args", "--srun-args", OptionKind::text, "WORDS", OptionGroup::hosts,
           "In a Slurm job, start dtrain on its nodes by srun with these options, such as "
           "--container-image=FILE of pyxis: then all processes run in that container, on this "
           "machine, too.",
           true, Effect::decides, "", true},
    Option{
        "connect-timeout", "--connect-timeout", OptionKind::duration, "TIME", OptionGroup::hosts,
        "How long all tries to reach a host may take together (default: ConnectTimeout of the ssh "
        "configuration, else 10s, and 2s for a host that only refuses connections; for an MPIJob "
        "nine tenths of --start-timeout)."},
    Option{"token-file", "--token-file", OptionKind::text, "FILE", OptionGroup::hosts,
           "The file with the token by which the nodes of --nnodes prove themselves, as `dtrain "
           "token` prints it. Only its user may read it, unless root owns it. Without it, the "
           "variable DTRAIN_NODES_TOKEN has the token.",
           true, Effect::decides, "", true},
    Option{"no-token", "--no-token", OptionKind::flag, "", OptionGroup::hosts,
           "Accept every process that reaches the port of node 0 as a node, as torchrun does.",
           true, Effect::decides, "", true},

    Option{
        "env", "-x --env", OptionKind::list, "NAME[=VALUE]", OptionGroup::workers,
        "Set a variable for the workers, or forward one that is not forwarded by itself. Variables "
        "that dtrain sets for each task win over it."},
    Option{
        "env-file", "--env-file", OptionKind::list, "FILE", OptionGroup::workers,
        "Set the variables of FILE, one NAME=VALUE or NAME a line, as docker does: quotes belong "
        "to the value. May be given again; -x wins over it."},
    Option{
        "env-exclude", "--env-exclude", OptionKind::list, "PATTERN", OptionGroup::workers,
        "Keep variables whose names fit PATTERN, such as 'AWS_*', from the workers. May be given "
        "again; -x and --env-file win over it."},
    Option{
        "role-command", "--role-command", OptionKind::list, "NAME=COMMAND", OptionGroup::workers,
        "The command for tasks of this role, instead of the job's. COMMAND is split into words as "
        "a shell does, quotes and backslashes included; nothing in it is expanded.",
        true, Effect::decides, "", true},
    Option{"role-env", "--role-env", OptionKind::list, "NAME=VARIABLE=VALUE", OptionGroup::workers,
           "Set a variable for the tasks of this role alone; wins over -x. May be given again. ps "
           "and evaluator get CUDA_VISIBLE_DEVICES= unless this or -x sets it."},
    Option{
        "env-set", "--env-set", OptionKind::list, "none|torch|tf|horovod|jax|ompi|dmlc|paddle",
        OptionGroup::workers,
        "Set the variables of these frameworks, separated by commas, besides those that are set "
        "anyway (torch, tf, horovod, ompi, and JAX's addresses): jax also sets the variables of a "
        "Slurm step, from which JAX needs no arguments; dmlc is for MXNet and BytePS "
        "(roles scheduler, server and worker), paddle for PaddlePaddle (worker, or ps and "
        "worker). none leaves out all that are not named; DTRAIN_* are always set."},
    Option{"pass-local-rank", "--pass-local-rank", OptionKind::flag, "", OptionGroup::workers,
           "Append --local_rank=N to each worker's command, as scripts written for "
           "torch.distributed.launch and DeepSpeed expect it."},
    Option{
        "algorithms", "--algorithms", OptionKind::text, "TABLE", OptionGroup::workers,
        "The algorithms of libdtrain's collectives between hosts and over TCP: "
        "tree:64k:ring is for all_reduce a tree up to 65536 bytes, and a ring above. Other "
        "operations are named, and separated by commas: ring,broadcast=hierarchical. @NAME is an "
        "algorithm that the program registers. What is not given stays as dtrain bench --explain "
        "prints it."},
    Option{"deterministic", "--deterministic", OptionKind::flag, "", OptionGroup::workers,
           "Let libdtrain's reductions add in the order of the ranks, so that results have the "
           "same bits in every run, on every layout of the ranks over hosts. Costs time between "
           "hosts. Chooses the algorithms of all_reduce, reduce and reduce_scatter, which "
           "--algorithms may not name then."},
    Option{"strategy", "--strategy", OptionKind::text, strategy_choices, OptionGroup::workers,
           "How programs with dtrain::Strategy train, by DTRAIN_STRATEGY: mirrored keeps a copy of "
           "each variable on every device of one process, multi_worker_mirrored on those of all "
           "processes. central_storage keeps variables in one place of one process, "
           "parameter_server in the tasks of the role ps. one_device uses one device."},
    Option{
        "devices", "--devices", OptionKind::text, "DEVICES", OptionGroup::workers,
        "The devices of each process that its strategy uses, by DTRAIN_DEVICES: numbers or "
        "names such as 0,1 or cpu:0,cpu:1, or TensorFlow's: /job:worker/task:1/gpu:0 is for that "
        "task alone. cpu: no GPU. Without it, all. -x DTRAIN_CPU_DEVICES=4 makes four devices of "
        "the CPU."},
    Option{"device-memory", "--device-memory", OptionKind::text, "SIZE", OptionGroup::workers,
           "How much memory of each device a strategy may use, such as 512M or 4G, by "
           "DTRAIN_DEVICE_MEMORY."},
    Option{"soft-placement", "--soft-placement", OptionKind::flag, "", OptionGroup::workers,
           "Where a device that is named does not exist, let a strategy use one of the CPU."},
    Option{"log-placement", "--log-placement", OptionKind::flag, "", OptionGroup::workers,
           "Let each strategy print on standard error where its replicas and variables are, and "
           "which devices the CPU replaces."},
    Option{
        "cross-device-op", "--cross-device-op", OptionKind::text, "OPERATION[:ARGUMENT]",
        OptionGroup::workers,
        "How the devices of a process reduce tensors under a strategy, by "
        "DTRAIN_CROSS_DEVICE_OP: ReductionToOneDevice, HierarchicalCopyAllReduce, AllReduce or "
        "NcclAllReduce, which needs GPUs. The argument of the first is its device, one of the "
        "strategy's or cpu; that of the others is the number of parts into which they pack "
        "tensors. Operations by the bytes of a tensor have the form of --algorithms: "
        "reduction_to_one:64k:all_reduce, also with hierarchical_copy, nccl_all_reduce, and with "
        "@NAME, which the program registers."},
    Option{"communication", "--communication", OptionKind::text, communication_choices,
           OptionGroup::workers,
           "How the workers of multi_worker_mirrored reduce, by DTRAIN_COMMUNICATION. ring is "
           "libdtrain's engine with --algorithms ring, unless another table is given. nccl needs "
           "GPUs. auto, the default, leaves the choice to libdtrain."},
    Option{
        "bytes-per-pack", "--bytes-per-pack", OptionKind::text, "SIZE", OptionGroup::workers,
        "Under multi_worker_mirrored, workers send gradients of one type in packs of SIZE bytes, "
        "such as 4M, or little more, by DTRAIN_BYTES_PER_PACK. Without it, large gradients are "
        "sent alone, and small ones together."},
    Option{
        "strategy-timeout", "--strategy-timeout", OptionKind::duration, "TIME",
        OptionGroup::workers,
        "How long an operation between the workers of a strategy may take, by "
        "DTRAIN_STRATEGY_TIMEOUT. The strategy ends then, with an error that names the rank that "
        "is missing. Without it, there is no limit."},
    Option{"ps-mode", "--ps-mode", OptionKind::text, "MODE", OptionGroup::workers,
           "When the servers of parameter_server apply what workers push, by DTRAIN_PS_MODE. sync, "
           "the default: in steps of all workers. sync:N: in steps of the first N workers, so that "
           "the others are to spare. async: at once. local-async: at once, but workers of a host "
           "reduce their gradients first, and one of them pushes. bounded:N: at once, but a worker "
           "waits while it is more than N pushes ahead of another."},
    Option{"ps-replicas", "--ps-replicas", OptionKind::integer, "N", OptionGroup::workers,
           "How many parameter servers have each variable, by DTRAIN_PS_REPLICAS: 1, the default, "
           "or 2. With 2, the next ps does all that a ps does, and takes over when that one dies: "
           "nothing that was pushed is lost, and the workers continue. It needs two ps."},
    Option{"chdir", "--chdir -wdir --wdir -wd -D --cwd", OptionKind::text, "DIR",
           OptionGroup::workers, "Start the workers in DIR instead of the current folder."},
    Option{"cluster-filter", "--cluster-filter", OptionKind::text, "none|ps", OptionGroup::workers,
           "Which tasks TF_CONFIG lists, as TensorFlow's device filters: with ps, a worker's lists "
           "no other worker, and a ps' no other ps, so that they need not wait for each other. "
           "none, the default: each lists all tasks."},
    Option{"no-macros", "--no-macros", OptionKind::flag, "", OptionGroup::workers,
           "Leave {role}, {index}, {rank}, {local_rank}, {world_size}, {host}, {port}, "
           "{hosts:ROLE}, {cluster_spec}, {master_addr}, {master_port} and {job_id} as they are. "
           "Without it they become each task's own values, in the command's words after the first "
           "and in the values of -x and --env-file. Other braces always stay, and so does "
           "code: ${...}, and each word that holds white space or follows -c or -e."},
    Option{"no-horovod", "--no-horovod", OptionKind::flag, "", OptionGroup::workers,
           "Do not serve Horovod's workers, which look each other up without authentication."},
    Option{"encrypt-data", "--encrypt-data", OptionKind::flag, "", OptionGroup::workers,
           "Encrypt what libdtrain's ranks exchange over TCP, by AES-128-GCM. Without it, only "
           "headers and control messages are authenticated. Shared memory is never encrypted, nor "
           "are the connections of other libraries."},
    Option{"transport", "--transport", OptionKind::text, "auto|shm|tcp", OptionGroup::workers,
           "How libdtrain's ranks exchange data. auto, the default: shared memory on one host, TCP "
           "between hosts. shm: shared memory alone, for jobs on one host. tcp: TCP alone."},
    Option{
        "stdin", "--stdin", OptionKind::text, "none|RANK|all", OptionGroup::workers,
        "The ranks that read dtrain's standard input. Without the option none does, and one line "
        "says so at the end of the job where input waits."},

    Option{"timeout", "--timeout", OptionKind::duration, "TIME", OptionGroup::faults,
           "End the job after this time, with exit status 124."},
    Option{
        "dump-stacks", "--dump-stacks", OptionKind::flag, "", OptionGroup::faults,
        "When --timeout or a signal ends the job, first send SIGQUIT to the processes that catch "
        "it, and wait 2 s: programs with libdtrain then write their last operations and their "
        "stack to stderr, as do those with a handler of Python's faulthandler."},
    Option{"start-timeout", "--start-timeout", OptionKind::duration, "TIME", OptionGroup::faults,
           "End the job unless every process has started after this time (default 30s; 300s for an "
           "MPIJob, whose pods may start late)."},
    Option{"grace", "--grace --shutdown-timeout --shutdown_timeout", OptionKind::duration, "TIME",
           OptionGroup::faults,
           "Time between SIGTERM and SIGKILL for processes that are ended (default 10s)."},
    Option{"heartbeat", "--heartbeat", OptionKind::duration, "TIME", OptionGroup::faults,
           "Time between two heartbeats of dtrain and its hosts (default 1s)."},
    Option{"dead-after", "--dead-after", OptionKind::duration, "TIME", OptionGroup::faults,
           "A host without heartbeats for this time counts as dead (default 5s; 60s for this "
           "machine)."},
    Option{
        "stall-report", "--stall-report", OptionKind::duration, "TIME", OptionGroup::faults,
        "When libdtrain's ranks have waited for others in one operation for this time, log which "
        "ranks are missing there and what they do (default 30s; 0: never). Ends nothing."},
    Option{"on-failure", "--on-failure", OptionKind::text, "kill|continue", OptionGroup::faults,
           "Kill the other processes when one fails, or let them continue (default kill)."},
    Option{
        "min-workers", "--min-workers", OptionKind::integer, "N", OptionGroup::faults,
        "Let the job continue without workers that fail, and succeed, while N of them are left. 1 "
        "is the default for --strategy parameter_server with --ps-mode async, sync:N or "
        "bounded:N. Without it, the failure of any worker is that of the job."},
    Option{
        "max-restarts", "--max-restarts --max_restarts", OptionKind::integer, "N",
        OptionGroup::faults,
        "When a process fails or a host is lost, end all of them and start all again, at most N "
        "times (default 0). Scripts continue from their own checkpoints. The first restart is at "
        "once, later ones wait 1s, 2s, 4s and so on, up to 30s. A lost host is tried again for "
        "--start-timeout, unless --spare has another one. A signal to dtrain and --timeout end "
        "the job."},
    Option{"restart-on", "--restart-on", OptionKind::text, "STATUSES", OptionGroup::faults,
           "With --max-restarts, start again only after a failure with one of these exit statuses, "
           "for example 42,143 or 128-255 (any signal)."},
    Option{"spare", "--spare", OptionKind::list, "HOSTS", OptionGroup::faults,
           "With --max-restarts, hosts such as node5:8 that wait without processes, and take the "
           "places of lost hosts. They are connected and checked at the start. May be given "
           "again."},
    Option{"restart-role", "--restart-role", OptionKind::list, "NAME=N", OptionGroup::faults,
           "Restart a task of this role when it fails, at most N times each, for example worker=2. "
           "With ps=always it starts again after exit status 0, too, until the job ends by "
           "--success; ps=always:N limits that, and ps=on-failure has no limit for failures. The "
           "first restart is at once, later ones wait 1s, 2s, 4s and so on, up to 30s; 10 minutes "
           "of life reset the wait. May be given again. A restarted rank can use parameter "
           "servers, but no collectives; the option restarts no task of a lost host."},
    Option{
        "success", "--success", OptionKind::text,
        "auto|chief|worker-0|all-workers|all|never|role:NAME", OptionGroup::faults,
        "The tasks whose success ends the job: the chief (or master), worker 0, all tasks with a "
        "rank, all tasks, or those of one role. auto, the default: the chief if there is one, "
        "else all tasks with a rank. Others, such as a ps, count as completed then. A task that "
        "fails before ends the job, except an evaluator that decides nothing. never: a cluster "
        "that runs until a signal stops it, with status 0, until a task fails, or until none is "
        "left."},
    Option{"clean", "--clean", OptionKind::text, "running|all|none", OptionGroup::faults,
           "How tasks end that still run when the job has succeeded. running, the default: workers "
           "get --grace to end by themselves (unless there is a ps), then all get SIGTERM and, "
           "after --grace, SIGKILL; processes that tasks left behind follow within 2 s. all: tasks "
           "and processes that they left behind get SIGTERM together and, after --grace, SIGKILL, "
           "also while a ps writes its last checkpoint. none: dtrain waits for them."},

    Option{
        "output-dir", "--output-dir --output-filename --log-dir --log_dir", OptionKind::text, "DIR",
        OptionGroup::output,
        "Also write each worker's output, byte for byte, to DIR/rank.N/stdout and stderr; of tasks "
        "without rank to DIR/ROLE.INDEX/stdout and stderr. {job_id} stands for the job's id."},
    Option{"keep-output", "--keep-output", OptionKind::text, "SIZE", OptionGroup::output,
           "Keep at most so much of each task's output in the files of --output-dir or of dtrain "
           "job run, such as 100M: the oldest goes, and the report counts it. dtrain job run keeps "
           "1G by default, and nothing with 0."},
    Option{
        "result-dir", "--result-dir", OptionKind::text, "DIR", OptionGroup::output,
        "Give each task a descriptor for a result, whose number is in DTRAIN_RESULT_FD, and write "
        "what arrives there to DIR/rank.N/result (DIR/ROLE.INDEX/result). {job_id} stands for "
        "the job's id."},
    Option{
        "on-lost-output", "--on-lost-output", OptionKind::text, "end|continue", OptionGroup::output,
        "When nobody reads standard output any more: end the job, as a pipe ends other programs, "
        "or let it continue without (default end, but continue with --output-dir)."},
    Option{"merge-stderr", "--merge-stderr", OptionKind::flag, "", OptionGroup::output,
           "Give each worker one stream for both: what it writes to stderr goes where its stdout "
           "goes, in the order written."},
    Option{
        "no-line-buffer", "--no-line-buffer", OptionKind::flag, "", OptionGroup::output,
        "Let programs of C and C++ keep their stdout as they do for pipes: 4 KiB appear at once, "
        "and are lost when the program is killed."},
    Option{"no-tag", "--no-tag", OptionKind::flag, "", OptionGroup::output,
           "Print workers' lines without [rank]<stdout>: before them."},
    Option{"timestamp",
           "--timestamp --timestamp-output -timestamp-output -prefix-timestamp "
           "--prefix-output-with-timestamp",
           OptionKind::flag, "", OptionGroup::output,
           "Print before each of the workers' lines the time at which dtrain had received it."},
    Option{"color", "--color", OptionKind::text, "auto|always|never", OptionGroup::output,
           "Colour the tags of the workers' lines, one colour a rank, and dtrain's own warnings "
           "and errors. auto, the default, does so on a terminal and obeys NO_COLOR, "
           "CLICOLOR_FORCE, CLICOLOR=0 and TERM=dumb."},
    Option{"report", "--report", OptionKind::text, "FILE", OptionGroup::output,
           "Write one JSON document to FILE when the job has ended, however it ended: hosts, "
           "tasks, times, exit, resources used. {job_id} stands for the job's id, {name} for "
           "its --name. Not with --dry-run."},
    Option{"name", "--name", OptionKind::text, "NAME", OptionGroup::output,
           "A name of the job for people, in --report, and for {name} in --output-dir, "
           "--result-dir and --report: letters, digits, -, _ and ., 63 at most."},
    Option{"quiet", "--quiet", OptionKind::flag, "", OptionGroup::output,
           "Keep the workers' output off the console."},
    Option{"verbose", "--verbose", OptionKind::flag, "", OptionGroup::output,
           "Log dtrain's own steps."},

    Option{"dry-run", "--dry-run", OptionKind::flag, "", OptionGroup::itself,
           "Print which rank would run where, with macros replaced, and start nothing."},
    Option{"json", "--json", OptionKind::flag, "", OptionGroup::itself,
           "With --dry-run: print the plan as one JSON document."},
    Option{"config-file", "--config-file", OptionKind::text, "FILE", OptionGroup::itself,
           "Read options from this TOML file, instead of ./dtrain.toml and "
           "~/.config/dtrain/config.toml.",
           false},
    Option{"help", "-h --help", OptionKind::flag, "", OptionGroup::itself,
           "Show this; -h is short.", false, Effect::prints},
    Option{"version", "-v --version", OptionKind::flag, "", OptionGroup::itself,
           "Print the version.", false, Effect::prints},
    Option{"check-build", "-cb --check-build", OptionKind::flag, "", OptionGroup::itself,
           "Print what this build can do.", false, Effect::prints},
};

/// All options of `dtrain run`.
inline constexpr auto run_options = [] {
  std::array<Option, own_options.size() + resource_options.size() + size_options.size() +
                         image_options.size() + sync_options.size() + mount_options.size() +
                         torchrun_options.size() + mpirun_options.size() + horovod_options.size()>
      all;
  auto* next = std::ranges::copy(own_options, all.begin()).out;
  next = std::ranges::copy(resource_options, next).out;
  next = std::ranges::copy(size_options, next).out;
  next = std::ranges::copy(image_options, next).out;
  next = std::ranges::copy(sync_options, next).out;
  next = std::ranges::copy(mount_options, next).out;
  next = std::ranges::copy(torchrun_options, next).out;
  next = std::ranges::copy(mpirun_options, next).out;
  std::ranges::copy(horovod_options, next);
  return all;
}();

/// The options that `dtrain check` takes as well: it finds and reaches the hosts as `run` does.
inline constexpr std::array<std::string_view, 19> check_option_names = {
    "chdir",      "hosts",           "hostfile",
    "allocation", "port-range",      "network-interfaces",
    "ssh",        "ssh-port",        "ssh-identity-file",
    "ssh-config", "ssh-parallel",    "rsh-agent",
    "srun-args",  "connect-timeout", "start-timeout",
    "color",      "verbose",         "config-file",
    "help"};
bool is_check_option(const Option& option);

/// The options that `dtrain bench` takes as well: its ranks are a job of their own, without roles.
inline constexpr std::array<std::string_view, 39> bench_option_names = {"np",
                                                                        "hosts",
                                                                        "hostfile",
                                                                        "allocation",
                                                                        "oversubscribe",
                                                                        "map-by",
                                                                        "rank-by",
                                                                        "ppn",
                                                                        "bind-to",
                                                                        "gpu-bind",
                                                                        "gpu-share",
                                                                        "port-range",
                                                                        "report-bindings",
                                                                        "network-interfaces",
                                                                        "ssh",
                                                                        "ssh-port",
                                                                        "ssh-parallel",
                                                                        "ssh-identity-file",
                                                                        "ssh-config",
                                                                        "rsh-agent",
                                                                        "srun-args",
                                                                        "connect-timeout",
                                                                        "env",
                                                                        "env-file",
                                                                        "encrypt-data",
                                                                        "algorithms",
                                                                        "deterministic",
                                                                        "timeout",
                                                                        "start-timeout",
                                                                        "grace",
                                                                        "heartbeat",
                                                                        "dead-after",
                                                                        "stall-report",
                                                                        "color",
                                                                        "report",
                                                                        "verbose",
                                                                        "dry-run",
                                                                        "config-file",
                                                                        "help"};
bool is_bench_option(const Option& option);

const Option* find_option(std::string_view name);
/// True for lists of variables: the values of all sources count. For one variable the nearer source
/// wins.
bool adds_up(const Option& option);
/// True for an option that may be given again, and adds a value then.
bool may_repeat(const Option& option);
/// Returns all spellings with their dashes: "-np", "--np", …
std::vector<std::string_view> spellings_of(const Option& option);
/// Returns the number of arguments that follow the option on the command line; 0 for flags.
size_t value_count(const Option& option);
/// Returns the literal values in the placeholder: none and all of "none|RANK|all".
std::vector<std::string_view> choices_of(const Option& option);
/// True when this spelling of a flag turns it off: "--no-autotune" of "autotune".
bool turns_off(const Option& option, std::string_view spelling);
/// Returns DTRAIN_OPT_START_TIMEOUT for "start-timeout".
std::string variable_of(const Option& option);

/// The option that the user may have meant by an unknown word.
struct OptionGuess {
  const Option* option = nullptr;
  std::string_view spelling;
};
/// Finds the option of horovodrun of which this is the beginning, and of no other option. Python's
/// argparse accepts such an abbreviation. `spelling` is the whole one.
std::optional<OptionGuess> abbreviated_option(std::string_view word);
/// Finds the nearest spelling that does not mean the opposite ("no"), or one that the word begins
/// with or that begins with the word. So
/// --nproc finds -np. Dashes in front do not count.
std::optional<OptionGuess> guess_option(std::string_view word);

}  // namespace dt
