/** What becomes of a request, each as often as its number says. */
export const FAULTS = {
  none: 62,
  /** It comes later. */
  delayed: 8,
  /** Later ones overtake it. */
  held_back: 6,
  /** It comes twice at once; the client hears whichever answer is first. */
  duplicated: 6,
  /** It is answered, and comes again seconds later. */
  repeated: 5,
  /** The client's connection ends before anything was sent on. */
  cut_before: 2,
  /** The server gets half of it. */
  cut_request: 2,
  /** The server gets it and its connection ends a moment later. */
  cut_waiting: 3,
  /** The server has answered, and the client hears nothing. */
  cut_unanswered: 4,
  /** The client hears half of the answer. */
  cut_answer: 3,
} as const;

export type Fault = keyof typeof FAULTS;
