import type { Host } from "./host.ts";

/**
 * Lowers the memory limit of a program's control group (version 1, then version 2) to a little more than its use, and exhausts it
 * by another process of the group: `tail` stores an endless line. The kernel kills the program first, because of its OOM score.
 * Version 1 rejects a limit below the present use. A killed process loses its memory before it has ended, which takes a moment on
 * a busy machine.
 */
const EXHAUST = `pid=$1
group=$(sed -n 's/^[0-9]*:memory://p' /proc/$pid/cgroup)
if [ -n "$group" ]; then
  group=/sys/fs/cgroup/memory$group limit=memory.limit_in_bytes used=memory.usage_in_bytes
else
  group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/$pid/cgroup) limit=memory.max used=memory.current
fi
echo 1000 >/proc/$pid/oom_score_adj
echo $(($(cat $group/$used) + 16777216)) >$group/$limit
sh -c 'echo 0 >"$0/cgroup.procs" && tail /dev/zero >/dev/null' $group
for _ in $(seq 100); do
  [ -d /proc/$pid ] || exit 0
  sleep 0.1
done
exit 1`;

/**
 * Has the kernel's OOM killer kill the only program of a container whose command line matches: the control group's memory runs
 * out, as it does when a program leaks. Throws unless just that happens.
 */
export async function killForMemory(host: Host, pattern: string): Promise<void> {
  const pid = (await host.exec(["pgrep", "-f", pattern])).trim();
  if (!/^\d+$/.test(pid)) throw new Error(`"${pattern}" is not one program: ${pid}`);
  await host.exec(["sh", "-c", `${EXHAUST}`, "sh", pid]);
}
