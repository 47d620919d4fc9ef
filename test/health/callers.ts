import type { History } from "./history.ts";

/** A new client calls each time, as jobs and functions do, or a client calls seldom. */
export const CALLERS: readonly History[] = [
  ...[
    [2, 1],
    [3, 0.5],
    [10, 0.3],
  ].map(
    ([all = 0, every]): History => ({
      name: `blind, one of ${all} replicas dies, and each call, every ${every} s, is of a new client: few are lost`,
      serves: { web: { c2: all, c3: 1 } },
      calls: [`a* web ${every}`],
      drops: ["0- node>*", "30- *>web@c2/1"],
      expect: ["120 web c2"],
      mayLose: ["a*"],
      loses: 4,
      seeds: [1, 2, 3],
    }),
  ),
  ...[
    [2, 0.5, 0.5],
    [3, 1, 0.3],
    [10, 0.2, 0.2],
  ].map(
    ([all, admitted, rejected]): History => ({
      name: `blind, and a policy admits a new client every ${admitted} s, and rejects one every ${rejected} s: all of ${all} replicas keep their clients`,
      serves: { web: { c2: all ?? 0, c3: 1 } },
      calls: [`a* web ${admitted}`, `b* web ${rejected} 20-`],
      drops: ["0- node>*", "0- b*>c2"],
      expect: [`70 web c2:${all}`],
      verdicts: [],
      mayLose: ["b*"],
      seeds: [1, 2],
    }),
  ),
  {
    name: "an import is called every 90 s: that probes do not reach it is reported",
    serves: { web: { c2: 2, c3: 1 } },
    calls: ["a web 90"],
    drops: ["0- node>c2"],
    expect: ["900 web c2:2"],
    blind: ["c2"],
  },
  {
    name: "probes work, and a client calls once a minute: what is dead is used last for minutes",
    serves: { web: { c2: 2, c3: 1 }, cart: { c2: 1 } },
    calls: ["a web 60 2-", "b cart 1"],
    drops: ["190- *>web@c2"],
    expect: ["300 web c3", "400 web c3"],
  },
  {
    name: "a client calls every three seconds, and the agent restarts a second after all replicas die: they are left together",
    serves: { web: { c2: 3, c3: 2 }, cart: { c2: 2, c3: 1 } },
    calls: ["a web 3 0.37-", "b cart 1"],
    drops: ["70- *>web@c2"],
    events: ["71.1 restart"],
    expect: ["79 web c3"],
    seeds: [7],
  },
];
