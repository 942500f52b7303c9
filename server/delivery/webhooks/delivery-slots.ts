import { type Lane, laneKey } from '../../domain/webhooks/wake-lanes.ts';

interface TakenSlot {
  lane: Lane;
  /** The start time of the current delivery. Undefined between two deliveries. */
  sendingSince: number | undefined;
}

/** The maximum number of remembered endpoints. A forgotten endpoint starts again with one delivery at a time. */
const maxRemembered = 10_000;

/**
 * Decides which lanes (delivery queues of endpoints) send at the same time in one process. A receiver that hangs holds
 * a slot for ten seconds. These limits keep an account with such receivers from taking every slot:
 *
 * - An account has at most `accountShare` slots, which is half of all slots.
 * - A quick endpoint answers within `quickMs` and has at most eight slots: one for each lane. Every other endpoint has
 *   at most one slot.
 * - The endpoints that are not quick share a third of their account's slots. Quick endpoints may take all slots of the
 *   account.
 *
 * A lane without a slot waits in the memory of the process. The lane waits only while another lane of its account has a
 * slot and a job. If the process dies, another process frees that job and wakes every lane with a due delivery.
 *
 * Each process counts its own slots, so a slow endpoint may have a slot in each process. A failing endpoint gets only
 * one try at a time from all processes together, because `probed_until` in the database limits its tries.
 */
export function buildDeliverySlots(accountShare: number, quickMs: number) {
  const unprovenShare = Math.max(1, Math.floor(accountShare / 3));
  const taken = new Map<string, TakenSlot>();
  const waiting = new Map<string, Lane>();
  /** The time of each endpoint's last quick answer. Undefined if the endpoint's last delivery was slow or failed. */
  const quickAt = new Map<number, number | undefined>();

  /**
   * Whether an endpoint's last answer was quick. If that answer is older than `quickMs`, the endpoint is quick only
   * while none of its deliveries has been running longer than `quickMs`.
   */
  function isQuick(endpointId: number): boolean {
    const lastQuick = quickAt.get(endpointId);
    if (lastQuick === undefined) return false;
    const limit = performance.now() - quickMs;
    if (lastQuick > limit) return true;
    return !taken.values().some(one => one.lane.endpointId === endpointId && (one.sendingSince ?? limit) < limit);
  }

  function hasRoom({ accountId, endpointId }: Lane, woken: Lane[] = []): boolean {
    const ofAccount = taken.values().filter(({ lane }) => lane.accountId === accountId);
    const lanes = [...ofAccount.map(({ lane }) => lane), ...woken];
    if (lanes.length >= accountShare) return false;
    if (isQuick(endpointId)) return true;
    const unproven = lanes.filter(one => !isQuick(one.endpointId));
    return unproven.length < unprovenShare && !lanes.some(one => one.endpointId === endpointId);
  }

  function wait(lane: Lane): false {
    // A lane (delivery queue) that already waits keeps its position among the waiting lanes.
    waiting.set(laneKey(lane), lane);
    return false;
  }

  /**
   * Chooses the waiting lanes (delivery queues) to wake. Lanes of endpoints whose last delivery was slow or failed come
   * last.
   */
  function wakeWaiting(accountId: number): Lane[] {
    const isLate = ({ endpointId }: Lane) => Number(quickAt.has(endpointId) && !isQuick(endpointId));
    const candidates = [...waiting.values().filter(lane => lane.accountId === accountId)];
    // Another process may take the jobs of the woken lanes. If no lane of the account has a slot here, no later event
    // in this process would wake a lane. Therefore the function wakes all lanes now. If only slow endpoints hold slots,
    // a slot may not become free for a long time. Therefore the function wakes more lanes than there are free slots.
    const holders = [...taken.values().filter(({ lane }) => lane.accountId === accountId)];
    const isLast = holders.length === 0;
    const mayHang = !holders.some(({ lane }) => isQuick(lane.endpointId));
    const woken: Lane[] = [];
    for (const lane of candidates.sort((a, b) => isLate(a) - isLate(b))) {
      const isSpare = mayHang && woken.length < accountShare && hasRoom(lane);
      if (!isLast && !isSpare && !hasRoom(lane, woken)) continue;
      waiting.delete(laneKey(lane));
      woken.push(lane);
    }
    return woken;
  }

  return {
    /**
     * Takes a slot for a lane (a delivery queue of an endpoint). If no slot is free, the lane waits, and the result is
     * false.
     */
    take(lane: Lane): boolean {
      if (!hasRoom(lane)) return wait(lane);
      const key = laneKey(lane);
      waiting.delete(key);
      taken.set(key, { lane, sendingSince: undefined });
      return true;
    },
    /** Whether a lane (delivery queue) waits for a slot and has not been woken. */
    isWaiting: (lane: Lane) => waiting.has(laneKey(lane)),
    begin(lane: Lane): void {
      const slot = taken.get(laneKey(lane));
      if (slot) slot.sendingSince = performance.now();
    },
    /** Records the end of a delivery. Returns the lanes (delivery queues) to wake, because they can get a slot now. */
    end(lane: Lane, isQuickAnswer: boolean): Lane[] {
      const slot = taken.get(laneKey(lane));
      if (!slot) return [];
      slot.sendingSince = undefined;
      const { endpointId } = lane;
      const wasQuick = isQuick(endpointId);
      if (quickAt.size >= maxRemembered && !quickAt.has(endpointId)) quickAt.clear();
      quickAt.set(endpointId, isQuickAnswer ? performance.now() : undefined);
      return isQuickAnswer && !wasQuick ? wakeWaiting(lane.accountId) : [];
    },
    /**
     * Whether a lane (delivery queue) may keep its slot and send its next delivery. If not, the lane waits for a slot.
     */
    keep(lane: Lane): boolean {
      const slot = taken.get(laneKey(lane));
      if (!slot) return false;
      const { endpointId } = lane;
      const isAlone = !taken.values().some(one => one !== slot && one.lane.endpointId === endpointId);
      return isAlone || isQuick(endpointId) || wait(lane);
    },
    /** Releases the slot of a lane (delivery queue). Returns the lanes to wake, because they can get a slot now. */
    release(lane: Lane): Lane[] {
      const key = laneKey(lane);
      const slot = taken.get(key);
      taken.delete(key);
      return slot ? wakeWaiting(lane.accountId) : [];
    },
  };
}
