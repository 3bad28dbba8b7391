import { type Evidence, type Finding, joined, sequencesIn } from "./evidence.ts";
import type { ServedBatch } from "./history.ts";

/** A batch is the same whenever it comes. */
export function sameBatch({ history, batches }: Evidence): Finding {
  const whole = history.deliveries.filter(({ slice }) => slice === null);
  const faults = whole.flatMap((delivery) => {
    const first = batches.get(delivery.batch);
    return first === undefined ? [] : differences(first, delivery);
  });
  return { check: "a batch that comes again is the same", checked: whole.length, faults };
}

/** Slices joined in the order of their ranks are the batch, and a rank's slice is the same whenever it comes. */
export function slices({ history, batches }: Evidence): Finding {
  const sliced = history.deliveries.filter(({ slice }) => slice !== null);
  const bySlice = Map.groupBy(sliced, ({ batch, slice }) => `${batch} ${slice?.rank} of ${slice?.of}`);
  const faults = [...bySlice.values()].flatMap(([first, ...again]) =>
    first === undefined ? [] : again.flatMap((slice) => differences(first, slice)),
  );
  for (const [batch, deliveries] of Map.groupBy(sliced, (delivery) => delivery.batch)) {
    const first = batches.get(batch);
    for (const whole of joined(deliveries)) if (first !== undefined) faults.push(...differences(first, whole));
  }
  return { check: "slices joined in order are the batch", checked: sliced.length, faults };
}

/** Every group comes as it was sent, whenever it comes. */
export function contents({ history, sent }: Evidence): Finding {
  const groups = history.deliveries.flatMap(({ batch, groups: ids, digests }) =>
    ids.map((id, place) => ({ batch, id, digest: digests[place] })),
  );
  const faults = groups.flatMap(({ batch, id, digest }) => {
    const was = sent.get(id)?.group.digest;
    return was === undefined || was === digest
      ? []
      : [`group ${id} came in batch ${batch} with other contents than it had`];
  });
  return { check: "groups come as they were sent", checked: groups.length, faults };
}

/** A rewind serves every batch after its step again, as it was, in order, and nothing else. */
export function rewound({ history, batches }: Evidence): Finding {
  const { step, batches: again } = history.rewind;
  const due = [...batches.values()].filter((batch) => batch.step > step);
  const faults = due.flatMap((batch, place) => {
    const served = again[place];
    if (served === undefined) return [`batch ${batch.batch} was not served again after the rewind to step ${step}`];
    return served.batch === batch.batch
      ? differences(batch, served)
      : [`after the rewind to step ${step} batch ${served.batch} came where batch ${batch.batch} was due`];
  });
  const more = again.slice(due.length).map(({ batch }) => `batch ${batch} came after the rewind's last`);
  return {
    check: "a rewind serves the batches after its step again",
    checked: again.length,
    faults: [...faults, ...more],
  };
}

function differences(first: ServedBatch, other: ServedBatch): string[] {
  const { batch } = first;
  if (other.step !== first.step) return [`batch ${batch} came as step ${first.step} and as step ${other.step}`];
  return other.groups.join() === first.groups.join()
    ? []
    : [`batch ${batch} came again with other groups or another order`];
}

/** Every step is one batch, and nobody missed one. */
export function everyStep({ batches }: Evidence): Finding {
  const steps = [...batches.values()].map(({ batch, step }) => ({ batch, step }));
  const faults = steps.flatMap(({ batch, step }, index) => {
    const before = steps[index - 1] ?? { batch: 0, step: 0 };
    return batch === before.batch + 1 && step === before.step + 1
      ? []
      : [`batch ${batch} is step ${step}; the one delivered before it is batch ${before.batch}, step ${before.step}`];
  });
  return { check: "steps follow each other as ids do, without a gap", checked: steps.length, faults };
}

export function exactSize(evidence: Evidence): Finding {
  const { history, batches } = evidence;
  const faults = [...batches.values()].flatMap((batch) => {
    const sequences = sequencesIn(evidence, batch);
    return sequences === history.batchSize ? [] : [`batch ${batch.batch} has ${sequences} sequences`];
  });
  return { check: `every batch has ${history.batchSize} sequences`, checked: batches.size, faults };
}

/** One trainer learns from a batch. */
export function firstAckOnce({ history }: Evidence): Finding {
  const byBatch = Map.groupBy(history.acks, ({ batch }) => batch);
  const faults = [...byBatch].flatMap(([batch, acks]) => {
    const firsts = acks.filter(({ status, repeated }) => status === 200 && !repeated);
    return firsts.length <= 1
      ? []
      : [`batch ${batch} was acknowledged for the first time by ${firsts.map(({ trainer }) => trainer).join(" and ")}`];
  });
  return { check: "a batch is acknowledged for the first time once", checked: byBatch.size, faults };
}

/** Whoever acknowledges a batch had it. */
export function ackByHolder({ history }: Evidence): Finding {
  const had = new Set(history.deliveries.map(({ batch, trainer }) => `${batch} ${trainer}`));
  const accepted = history.acks.filter(({ status }) => status === 200);
  const faults = accepted.flatMap(({ batch, trainer }) =>
    had.has(`${batch} ${trainer}`) ? [] : [`${trainer} acknowledged batch ${batch}, which it never got`],
  );
  return { check: "acks come from trainers that had the batch", checked: accepted.length, faults };
}

/** While a trainer holds a batch, no other one's ack counts. */
export function heldAgainstOthers({ history }: Evidence): Finding {
  const byBatch = Map.groupBy(history.deliveries, ({ batch }) => batch);
  const released = new Set(history.released);
  const firsts = history.acks.filter(({ status, repeated }) => status === 200 && !repeated);
  const faults = firsts.flatMap(({ batch, trainer, askedAt, answeredTime }) => {
    if (released.has(batch)) return [];
    const before = (byBatch.get(batch) ?? []).filter((delivery) => delivery.askedAt < askedAt);
    const last = before.toSorted((a, b) => a.heldUntil - b.heldUntil).at(-1);
    if (last === undefined || last.trainer === trainer) return [];
    return last.answeredAt < askedAt && answeredTime < last.heldUntil
      ? [`${trainer} acknowledged batch ${batch} while ${last.trainer} held it`]
      : [];
  });
  return { check: "no trainer acknowledges what another one holds", checked: firsts.length, faults };
}

export function everyBatchAcknowledged({ batches, acknowledged }: Evidence): Finding {
  const faults = [...batches.keys()].flatMap((id) =>
    acknowledged.has(id) ? [] : [`batch ${id} was delivered, never acknowledged, and is gone`],
  );
  return { check: "every batch is acknowledged in the end", checked: batches.size, faults };
}

/** A request that came to the server after an ack was answered doesn't get that batch. */
export function neverAgain({ history }: Evidence): Finding {
  const ackedAt = new Map<number, number>();
  for (const { batch, status, answeredAt } of history.acks)
    if (status === 200) ackedAt.set(batch, Math.min(answeredAt, ackedAt.get(batch) ?? answeredAt));
  const faults = history.deliveries.flatMap(({ batch, askedAt, trainer }) =>
    askedAt > (ackedAt.get(batch) ?? Number.POSITIVE_INFINITY)
      ? [`batch ${batch} was served to ${trainer} after it had been acknowledged`]
      : [],
  );
  return { check: "a batch that was acknowledged is never served again", checked: ackedAt.size, faults };
}
