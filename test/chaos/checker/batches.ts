import { type Evidence, type Finding, sequencesIn } from "./evidence.ts";

/** A batch is the same whenever it comes. */
export function sameBatch({ history, batches }: Evidence): Finding {
  const faults = history.deliveries.flatMap(({ batch, step, groups }) => {
    const first = batches.get(batch);
    if (first === undefined) return [];
    if (step !== first.step) return [`batch ${batch} came as step ${first.step} and as step ${step}`];
    return groups.join() === first.groups.join()
      ? []
      : [`batch ${batch} came again with other groups or another order`];
  });
  return { check: "a batch that comes again is the same", checked: history.deliveries.length, faults };
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
