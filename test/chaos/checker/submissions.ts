import { type Evidence, type Finding, isRefused, isTaken, statusIn } from "./evidence.ts";
import type { Submission } from "./history.ts";

/** Every client that goes on asking is told in the end. */
export function answered({ history }: Evidence): Finding {
  const faults = history.submissions.flatMap((submission) => {
    if (submission.answers.length === 0) return [`${nameOf(submission)} has no definite answer`];
    const strange = submission.answers.find((answer) => !["received", "buffered", null].includes(statusIn(answer)));
    return strange === undefined ? [] : [`${nameOf(submission)} was answered ${strange.body}`];
  });
  return { check: "every submission has a definite answer", checked: history.submissions.length, faults };
}

/** The same request again gets the same answer. */
export function sameAnswers({ history }: Evidence): Finding {
  const named = history.submissions.filter(({ identity, answers }) => identity !== null && answers.length > 1);
  const faults = named.flatMap(({ identity, answers }) => {
    const different = new Set(answers.map(({ status, body }) => `${status} ${body}`));
    return different.size === 1 ? [] : [`${identity} was answered ${[...different].join(" and ")}`];
  });
  return { check: "the same key or lease gets the same answer", checked: named.length, faults };
}

/** A key is new once, and so are contents. Which of the answers to it arrived is not known, so there may be no answer that says so. */
export function newOnce({ history }: Evidence): Finding {
  const keyed = history.submissions.filter(({ identity }) => identity !== null && /^(key|contents) /.test(identity));
  const faults = keyed.flatMap(({ identity, answers }) => {
    const firsts = answers.filter(({ status, repeated }) => status === 200 && !repeated).length;
    return firsts <= 1 ? [] : [`${identity} was answered ${firsts} times as if it were new`];
  });
  return { check: "a key is answered as new at most once", checked: keyed.length, faults };
}

/**
 * What was promised is acknowledged in a batch, or was dropped and counted. Where no group can have come twice the numbers
 * agree exactly; of an environment without keys copies may have been dropped.
 */
export function nothingLost({ history, batches, acknowledged }: Evidence): Finding {
  const delivered = new Set<string>();
  for (const [id, { groups }] of batches) if (acknowledged.has(id)) for (const group of groups) delivered.add(group);
  const dropped = new Map(history.environments.map(({ environment, dropped: count }) => [environment, count]));
  const faults: string[] = [];
  let checked = 0;
  for (const [environment, submissions] of Map.groupBy(history.submissions, (submission) => submission.environment)) {
    const taken = submissions.filter(isTaken).flatMap(({ groups }) => groups.map(({ id }) => id));
    checked += taken.length;
    const missing = taken.filter((id) => !delivered.has(id));
    const counted = dropped.get(environment) ?? 0;
    if (missing.length > counted)
      faults.push(
        `environment ${environment}: ${missing.length} of ${taken.length} groups that were answered received are in no acknowledged batch, and ${counted} were counted as dropped; among them ${missing.slice(0, 5).join(", ")}`,
      );
    const isExact = submissions.every(({ identity }) => identity !== null);
    if (isExact && missing.length < counted)
      faults.push(
        `environment ${environment}: ${counted} groups were counted as dropped, and ${missing.length} are missing`,
      );
  }
  return { check: "no group that was answered received is lost", checked, faults };
}

/** What the run's filters drop is in no batch. */
export function filtersKept({ sent, batches }: Evidence): Finding {
  const filtered = [...sent.values()].filter(({ group }) => group.isFiltered);
  const faults = [...batches.values()].flatMap(({ batch, groups }) =>
    groups.filter((id) => sent.get(id)?.group.isFiltered === true).map((id) => `group ${id} is in batch ${batch}`),
  );
  return { check: "no group that the filters drop is in a batch", checked: filtered.length, faults };
}

/** A group with a key or a lease, or that is told by its contents, is in one batch, once. */
export function nothingTwice({ sent, batches }: Evidence): Finding {
  const places = new Map<string, number[]>();
  for (const [id, { groups }] of batches)
    for (const group of groups) places.set(group, [...(places.get(group) ?? []), id]);
  const named = [...places].filter(([group]) => sent.get(group)?.submission.identity != null);
  const faults = named.flatMap(([group, ids]) =>
    ids.length === 1 ? [] : [`group ${group} is ${ids.length} times in batches, in ${ids.join(", ")}`],
  );
  return { check: "no group with a key or a lease is in batches twice", checked: named.length, faults };
}

/** Batches hold what was sent and taken, and nothing else. */
export function nothingStrange({ history, sent, batches }: Evidence): Finding {
  const refused = new Set(history.submissions.filter(isRefused).flatMap(({ groups }) => groups.map(({ id }) => id)));
  const delivered = [...batches.values()].flatMap(({ groups }) => groups);
  const faults = delivered.flatMap((group) => {
    if (!sent.has(group)) return [`group ${group} was never sent`];
    return refused.has(group) ? [`group ${group} was refused, and is in a batch`] : [];
  });
  return { check: "batches hold nothing that was refused or never sent", checked: delivered.length, faults };
}

function nameOf({ client, identity, groups }: Submission): string {
  return identity ?? `${client}'s ${groups[0]?.id}`;
}
