import { type History, OFTEN } from "./history.ts";

const ANY_TIER = { selectors: [] } as const;

/** Some or most replicas die, and clients call often or seldom; others stay well. */
export const REPLICAS: readonly History[] = [
  {
    name: "a slow client goes from one dead replica to the next: probes do not reach them",
    serves: { web: { c2: 2, c3: 2 } },
    calls: ["a web 10"],
    drops: ["0- node>*", "61- *>c2"],
    expect: ["60 web c2"],
    seeds: [1, 2],
  },
  ...([1, 3] as const).flatMap((every) =>
    [
      [3, 2],
      [5, 3],
    ].map(([all = 0, dead = 0]) => ({
      name: `probes do not reach them, ${dead} of ${all} replicas are dead, and a call comes each ${every} s: no SYN goes from one dead replica to the next`,
      serves: { web: { c2: all, c3: 3 }, cart: { c2: 3, c3: 2 } },
      calls: [`a web ${every}`, `b cart ${every}`],
      drops: ["0- node>*", ...Array.from({ length: dead }, (_, i) => `30- *>web@c2/${i + 1}`)],
      expect: ["29 web c2", "85 cart c2"],
      seeds: [1, 2, 3, 4],
    })),
  ),
  ...(
    [
      [1, "c2", 2, 1],
      [2, "c2", 2, 1],
      [3, "c2", 2, 1],
      [4, "c2", 2, 1],
      [3, "c1/n2", 3, 2],
    ] as const
  ).map(([every, place, all, dead]) => ({
    name: `probes do not reach them, ${dead} of ${all} replicas in ${place} are dead, no other cluster has any, and a call comes each ${every} s: the dead ones are used last of all`,
    serves: { web: { [place]: all } },
    calls: [`a web ${every}`],
    drops: [
      "0- node>*",
      ...Array.from({ length: dead }, (_, i) => `30- *>web@${place.slice(0, 2)}/${i + 1}`),
    ],
    expect: [`29 web ${place.slice(0, 2)}`, `90 web ${place.slice(0, 2)}`],
    // The fourth SYN can go from one of two dead replicas to the other: 3 % of the connections are lost.
    mayLose: dead > 1 ? ["a"] : [],
    seeds: [1, 2, 3, 4],
  })),
  ...(["", "62 restart|75 restart"] as const).map((restarts) => ({
    name: `probes do not reach them, 2 of 3 replicas are dead, and no other cluster has any: once both were found, attempts ${restarts ? "and restarts lose no connection" : "delay connections by three seconds"}`,
    serves: { web: { c2: 3 } },
    calls: ["a web 0.1 0-60", "b web 3 0-29", "b web 3 60-"],
    drops: ["0- node>*", "30- *>web@c2/1", "30- *>web@c2/2"],
    events: restarts.split("|").filter((one) => one !== ""),
    expect: ["120 web c2"],
    mayLose: ["a"],
    ...(restarts === "" && { patience: 4_000 }),
    seeds: [1, 2, 3, 4, 5, 6],
  })),
  ...[1, 3].map((every) => ({
    name: `probes do not reach them, 2 of 3 replicas are dead for a minute and a half, and a call comes each ${every} s: they are used soon afterwards`,
    serves: { web: { c2: 3 } },
    calls: [`a web ${every}`],
    drops: ["0- node>*", "30-120 *>web@c2/1", "30-120 *>web@c2/2"],
    expect: ["119 web c2", "160 web c2:3"],
    mayLose: ["a"],
    seeds: [1, 2, 3, 4, 5, 6],
  })),
  {
    name: "probes do not reach them, one of six replicas is dead, and two pods that a policy rejects retry: the others of its cluster keep their clients",
    serves: { web: { c2: 6, c3: 1 } },
    calls: ["a web 1", "c web 0.1 70-", "d web 0.1 70-"],
    drops: ["0- node>*", "70- *>web@c2/1", "0- c>c2", "0- d>c2"],
    expect: ["69 web c2", "90 web c2", "110 web c2", "130 web c2", "150 web c2", "170 web c2"],
    mayLose: ["c", "d"],
    seeds: [1, 2],
  },
  {
    name: "clients that connected long ago reconnect after a death, one after the other: probes do not reach it",
    serves: { web: { c2: 2, c3: 2 } },
    calls: ["a web 1 0-1", "a web 1 300-", "c web 1 0-1", "c web 1 300-", "b web 60 1-"],
    drops: ["0- node>*", "299- *>c2"],
    expect: ["309 web c3", "345 web c3"],
    seeds: [1, 2, 3, 4],
  },
  {
    name: "a slow client, three replicas in the tier of own endpoints: probes do not reach them",
    serves: { web: { c1: 1, c2: 3 } },
    fact: ANY_TIER,
    calls: ["a web 4"],
    drops: ["0- node>*", "61- *>c2"],
    expect: ["200 web c1"],
    seeds: [1, 2, 3, 4],
  },
  {
    name: "twenty replicas of one Service are blocked, a call a second: probes do not reach them",
    serves: { web: { c2: 20, c3: 2 }, cart: { c2: 2, c3: 2 } },
    calls: ["a web 1", "b cart 0.5"],
    drops: ["0- node>*", "20- *>web@c2"],
    expect: ["40 web c3", "40 cart c2", "200 cart c2"],
  },
  {
    name: "five replicas of one Service are blocked, a slow client: probes work",
    serves: { web: { c2: 5, c3: 2 }, cart: { c2: 2, c3: 2 } },
    calls: ["a web 5", "b cart 0.1"],
    drops: ["61- *>web@c2"],
    expect: ["60 web c2", "80 web c3", "80 cart c2", "200 web c3"],
    seeds: [1, 2],
  },
  {
    name: "own endpoints, all on a dead node, a slow client",
    serves: { web: { "c1/n2": 2, c2: 1 } },
    calls: ["a web 5"],
    drops: ["61- *>web@c1"],
    expect: ["60 web c1", "72 web c2"],
    seeds: [1, 2],
  },
  {
    name: "own endpoints, all on a dead node: the second SYN of a client that calls every two seconds does not go to another one",
    serves: { web: { "c1/n2": 2, c2: 1 } },
    calls: ["a web 2"],
    drops: ["10- *>web@c1"],
    expect: ["9 web c1", "16 web c2"],
    patience: 5_000,
    seeds: [4, 8, 12],
  },
  {
    name: "a firewall refuses nodes and admits pods; the cluster dies",
    serves: { web: { c2: 2, c3: 2 } },
    refuses: ["c2"],
    drops: ["10- *>c2"],
    expect: ["9 web c2", "14 web c3", "60 web c3"],
    blind: ["c2"],
  },
  {
    name: "probes fail on this node, as without free ports; the cluster dies",
    serves: { web: { c2: 2, c3: 2 } },
    events: ["8 break-probes"],
    drops: ["10- *>c2"],
    expect: ["9 web c2", "16 web c3", "60 web c3"],
  },
  ...[
    [20, 15],
    [40, 30],
    [100, 80],
    [200, 190],
  ].map(([count = 0, dead = 0]) => ({
    name: `${dead} of ${count} replicas hang`,
    serves: { web: { c2: count, c3: 4 }, cart: { c2: 2, c3: 2 } },
    calls: [OFTEN, "b cart 0.1"],
    drops: Array.from({ length: dead }, (_, i) => `10- *>web@c2/${i + 1}`),
    expect: ["60 cart c2", `90 web c2:${count - dead}`],
    seeds: [1, 2, 3],
  })),
];

/** One Service or port is blocked: others keep their traffic. */
export const BLOCKED: readonly History[] = [
  {
    name: "some endpoints of a silent cluster work again: it is used soon",
    serves: { web: { c2: 6, c3: 3 } },
    drops: ["10-30 *>web@c2", "30- *>web@c2/1", "30- *>web@c2/2", "30- *>web@c2/3"],
    expect: ["20 web c3", "45 web c2:3"],
    seeds: [1, 2, 3],
  },
  {
    name: "one Service is blocked; another one, which admits no nodes and was never called, keeps its traffic",
    serves: { web: { c2: 2, c3: 1 }, "shop/pay": { c2: 4, c3: 2 } },
    calls: ["a web 0.5", "b shop/pay 20 40-"],
    drops: ["0- node>shop/pay@c2", "20- *>web@c2"],
    expect: ["30 web c3", "30 shop/pay c2", "100 shop/pay c2", "400 shop/pay c2"],
  },
  {
    name: "the same with one endpoint each",
    serves: { web: { c2: 1, c3: 1 }, "shop/pay": { c2: 1, c3: 1 } },
    calls: ["a web 0.2", "b shop/pay 3 40-"],
    drops: ["0- node>shop/pay@c2", "20- *>web@c2"],
    expect: ["30 web c3", "30 shop/pay c2", "200 shop/pay c2"],
  },
  {
    name: "one port of an endpoint is blocked: another one keeps its traffic",
    serves: { web: { c2: 1, c3: 1 } },
    ports: { web: [8080, 9090] },
    calls: [OFTEN, "b web#1 10"],
    drops: ["75- *>web@c2:8080"],
    expect: ["79 web c3", "79 web#1 c2", "200 web#1 c2", "500 web#1 c2"],
  },
  {
    name: "a blocked Service is rolled, and its new pods are blocked, too",
    serves: { web: { c2: 4, c3: 4 }, cart: { c2: 2, c3: 2 } },
    calls: ["a web 1", "b cart 0.2"],
    drops: ["20- *>web@c2"],
    events: ["40 roll web@c2 4"],
    expect: ["39 web c3", "50 web c3", "120 web c3", "250 web c3"],
  },
  {
    name: "the same where nodes are not admitted: clients decide",
    serves: { web: { c2: 4, c3: 4 }, cart: { c2: 2, c3: 2 } },
    calls: ["a web 0.05", "b cart 0.2"],
    drops: ["0- node>*", "20- *>web@c2"],
    events: ["40 roll web@c2 4"],
    expect: ["250 cart c2"],
  },
  ...(
    [
      ["all replicas are blocked", "a web 1", ["30- *>web@c2"], "c3"],
      [
        "four of five are blocked",
        "a web 0.5",
        [1, 2, 3, 4].map((i) => `30- *>web@c2/${i}`),
        "c2:1",
      ],
      ["probes do not reach them", "a web 2", ["0- node>*", "30- *>web@c2"], "c3"],
    ] as const
  ).map(([what, calls, drops, left]) => ({
    name: `the agent restarts while a group has a verdict, and no dead one is used again: ${what}`,
    serves: { web: { c2: 5, c3: 3 }, cart: { c2: 2, c3: 2 } },
    calls: [calls, "b cart 1"],
    drops,
    events: ["38 restart", "39 restart"],
    expect: ["37.9", "38.2", "39.2", "41"].map((at) => `${at} web ${left}`),
    seeds: [1, 2, 3, 4],
  })),
  {
    name: "own endpoints on a dead node are replaced by others there: these are left together, not one by one",
    serves: { web: { "c1/n2": 3, c2: 2 } },
    calls: ["a web 2"],
    drops: ["20- *>c1"],
    events: ["26 roll web@c1 20"],
    expect: ["19 web c1", "25 web c2", "35 web c2"],
    seeds: [1, 2],
  },
  {
    name: "a blind cluster is dead, and its Service is rolled: a client that it answered before is no stranger to the new pods",
    serves: { web: { c2: 4, c3: 4 } },
    drops: ["0- node>*", "10- *>c2"],
    events: ["15 roll web@c2 4"],
    expect: ["14 web c3", "19.5 web c3"],
    seeds: [1, 2],
  },
  {
    name: "most replicas are dead, and a tenant lists all of them for their cluster: each is found all the same",
    serves: { web: { c2: 30, c3: 4 }, cart: { c2: 2, c3: 2 }, "mallory/trap": { c3: 1 } },
    lists: ["mallory/trap c2 web@c2"],
    calls: [OFTEN, "b cart 0.2"],
    drops: Array.from({ length: 20 }, (_, i) => `10- *>web@c2/${i + 1}`),
    expect: ["30 web c2:10", "30 cart c2"],
    seeds: [1, 2, 3, 4],
  },
  ...(["a web 1", "a web 5"] as const).map((calls) => ({
    name: `a tenant lists a Service's endpoints for its cluster; it is blocked, and its clients move all the same: ${calls}`,
    serves: { web: { c2: 5, c3: 2 }, cart: { c2: 2, c3: 2 }, "mallory/trap": { c3: 1 } },
    lists: ["mallory/trap c2 web@c2"],
    calls: [calls, "b cart 0.2"],
    drops: ["70- *>web@c2"],
    expect: ["95 cart c2"],
    seeds: [1, 2, 3],
  })),
];

/** Answers take a round trip: a client whose answer is under way does not vouch for one that a policy rejects. */
export const ROUND_TRIPS: readonly History[] = [60, 130, 700, 900, 2_000].flatMap((roundTrip) =>
  (
    [
      ["one replica", "c2", "c2", 1, "a web 1.9", "b web 0.1 10-70"],
      ["four replicas", "c2", "c2", 4, "a web 1", "b web 0.5 10-170"],
      ["a scan of ten", "c2", "c2", 10, "a web 0.5", "b web 0.1 10-170"],
      ["the own cluster", "c1/n2", "c1", 4, "a web 1", "b web 0.5 10-170"],
    ] as const
  ).map(([what, place, near, count, ...calls]) => ({
    name: `answers take ${roundTrip} ms, and a policy rejects one client and the node: ${what}`,
    roundTrip,
    serves: { web: { [place]: count, c3: 1 } },
    calls,
    drops: [`0- node>${near}`, `0- b>${near}`],
    expect: ["20", "68", "100", "175"].map((at) => `${at} web ${near}:${count}`),
    verdicts: [],
    mayLose: ["b"],
    ...(roundTrip < 1_000 && { neverWait: ["a"] }),
    seeds: roundTrip < 500 ? [1, 2] : [1],
  })),
);
