import type { Host } from "./host.ts";

/**
 * Of a program's control group (version 1, then version 2) the limit is lowered to a little more than what it has, and somebody
 * who lives in there takes that and more: `tail` keeps a line that never ends. Whom the kernel kills first is said
 * beforehand: the program. A limit below what is in use would be refused by version 1. What is killed has lost its memory before
 * it has ended, which takes a moment on a busy machine.
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
