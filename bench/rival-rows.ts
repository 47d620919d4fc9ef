import type { Agent } from "./agents.ts";
import type { Measured } from "./contest.ts";
import { figuresOf, megabytes, percent, processor, servicesOf, time } from "./figures.ts";
import type { Rival } from "./kube-proxies.ts";
import type { Row } from "./table.ts";
import type { Spent } from "./usage.ts";

/** How an agent does what a kube-proxy does, side by side. */
export function rivalRows(agent: Agent, rival: Rival): Row[] {
  const pairs = agent.measured.flatMap((ours) => {
    const theirs = rival.measured.find(({ services }) => services === ours.services);
    return theirs === undefined ? [] : [[ours, theirs] as const];
  });
  return [
    ...pairs.flatMap(([ours, theirs]) => changeRows(ours, theirs)),
    ...pairs.flatMap(([ours, theirs]) =>
      Number.isNaN(theirs.cold)
        ? []
        : [
            row(
              `start -> ready, with a response, ${servicesOf(ours.services)}`,
              ours.cold,
              theirs.cold,
              time(ours.cold),
              time(theirs.cold),
            ),
          ],
    ),
    ...pairs.map(([ours, theirs]) =>
      row(
        `resident memory, ${servicesOf(ours.services)}`,
        sum(ours.resident),
        sum(theirs.resident),
        megabytes(ours.resident),
        megabytes(theirs.resident),
      ),
    ),
    ...agent.quiet.flatMap((ours) => {
      const theirs = rival.quiet.find(({ services }) => services === ours.services);
      if (theirs === undefined) return [];
      const what = `processor time while idle, ${servicesOf(ours.services)}`;
      return [row(what, ours.share, theirs.share, percent(ours.share), percent(theirs.share))];
    }),
  ];
}

function changeRows(ours: Measured, theirs: Measured): Row[] {
  const all = servicesOf(ours.services);
  const [first, other] = [ours, theirs].map(({ alone }) =>
    figuresOf(alone.map((one) => one.first)),
  );
  if (first === undefined || other === undefined) return [];
  const rows = [
    row(
      `slice acknowledged -> first new response, ${all}: p50 / p99`,
      first.p50,
      other.p50,
      time(first.p50, first.p99),
      time(other.p50, other.p99),
    ),
  ];
  const [three, threeOfOther] = [ours, theirs].map(({ series }) =>
    series.flatMap((one) => (one.length === 0 ? [] : [figuresOf(one).p50])),
  );
  if (three?.length === 3 && threeOfOther?.length === 3)
    rows.push(
      row(
        `three changes in a second, ${all}, 1st / 2nd / 3rd: p50`,
        Math.max(...three),
        Math.max(...threeOfOther),
        time(...three),
        time(...threeOfOther),
      ),
    );
  if (ours.storm === undefined || theirs.storm === undefined) return rows;
  const [storm, otherStorm] = [figuresOf(ours.storm.firsts), figuresOf(theirs.storm.firsts)];
  return [
    ...rows,
    row(
      `100 changes a second, ${all}: p50 / p99`,
      storm.p50,
      otherStorm.p50,
      time(storm.p50, storm.p99),
      time(otherStorm.p50, otherStorm.p99),
    ),
    row(
      `processor time of 100 changes a second, ${all}`,
      seconds(ours.storm.spent),
      seconds(theirs.storm.spent),
      processor(ours.storm.spent),
      processor(theirs.storm.spent),
    ),
  ];
}

function seconds({ user, system }: Spent): number {
  return user + system;
}

function row(what: string, ours: number, theirs: number, text: string, beside: string): Row {
  return { what, ours: text, beside, ...(theirs > 0 && { ratio: ours / theirs }) };
}

function sum([own, children]: readonly [number, number]): number {
  return own + children;
}
