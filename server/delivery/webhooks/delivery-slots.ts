import { type Lane, laneKey } from '../../domain/webhooks/wake-lanes.ts';

interface TakenSlot {
  lane: Lane;
  /** The start of the current delivery; undefined between two deliveries. */
  sendingSince: number | undefined;
}

/** A forgotten endpoint starts again with single deliveries, which does no harm. */
const maxRemembered = 10_000;

/**
 * Decides which lanes one process sends from at the same time. A hanging receiver holds a slot for ten seconds. These
 * limits keep an account with such receivers from taking every slot:
 *
 * - An account has `accountShare` slots, which is half of them.
 * - An endpoint has one slot. A quick endpoint, which answers within `quickMs`, has eight: one for each lane.
 * - All endpoints of an account that are not quick share a third of its slots. The rest is for its quick endpoints.
 *
 * A lane without a slot waits in the memory of the process. It waits only while another lane of its account has a slot,
 * and so while a job is locked. When a process dies, the process that frees its jobs wakes every lane with a due
 * delivery.
 *
 * Each process counts its own slots. Two processes give a slow endpoint two slots, but `probed_until` gives a failing
 * endpoint a single try in all processes.
 */
export function buildDeliverySlots(accountShare: number, quickMs: number) {
  const unprovenShare = Math.max(1, Math.floor(accountShare / 3));
  const taken = new Map<string, TakenSlot>();
  const waiting = new Map<string, Lane>();
  /** The time of an endpoint's last quick answer; undefined if its last delivery was slow or failed. */
  const quickAt = new Map<number, number | undefined>();

  /**
   * An endpoint stays quick if it answered quickly within the last `quickMs`, even if one of its deliveries is slow.
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
    // If the lane is waiting already, it keeps its place.
    waiting.set(laneKey(lane), lane);
    return false;
  }

  /** Returns the lanes to wake, endpoints with a slow or failed last delivery last. */
  function wakeWaiting(accountId: number): Lane[] {
    const isLate = ({ endpointId }: Lane) => Number(quickAt.has(endpointId) && !isQuick(endpointId));
    const candidates = [...waiting.values().filter(lane => lane.accountId === accountId)];
    // Another process may take the jobs of the woken lanes. So wake all lanes if no slot is taken here: nothing would
    // wake them later. Wake more than there is room for if only slow endpoints hold slots, which may take long.
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
    /** Takes a slot. Returns false without a free slot; then the lane waits. */
    take(lane: Lane): boolean {
      if (!hasRoom(lane)) return wait(lane);
      const key = laneKey(lane);
      waiting.delete(key);
      taken.set(key, { lane, sendingSince: undefined });
      return true;
    },
    /** Whether a lane was refused a slot and has not been woken since. */
    isWaiting: (lane: Lane) => waiting.has(laneKey(lane)),
    /** Notes the start of a delivery. */
    begin(lane: Lane): void {
      const slot = taken.get(laneKey(lane));
      if (slot) slot.sendingSince = performance.now();
    },
    /** Notes the end of a delivery. Returns the lanes to wake, which can have a slot now. */
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
    /** Whether a lane may send its next delivery. If not, the lane waits. */
    keep(lane: Lane): boolean {
      const slot = taken.get(laneKey(lane));
      if (!slot) return false;
      const { endpointId } = lane;
      const isAlone = !taken.values().some(one => one !== slot && one.lane.endpointId === endpointId);
      return isAlone || isQuick(endpointId) || wait(lane);
    },
    /** Gives the slot back. Returns the lanes to wake, which can have a slot now. */
    release(lane: Lane): Lane[] {
      const key = laneKey(lane);
      const slot = taken.get(key);
      taken.delete(key);
      return slot ? wakeWaiting(lane.accountId) : [];
    },
  };
}
