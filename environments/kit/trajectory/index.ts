export type { Generation, Rollout } from "./rollout.ts";
export { type SampleGroupOptions, sampleGroup } from "./sample-group.ts";
export { type GroupScores, type ScoredGroup, toScoredGroup } from "./scored-group.ts";
export { NOT_TRAINED, type PolicySegment, type Sequence, SequenceBuilder, trainedTokens } from "./sequence.ts";
export { hermesToolCalls, type ParsedTurn, type ToolCallParser } from "./tool-calls.ts";
export { Trajectory, type TrajectoryOptions, type Turn, type TurnOptions } from "./trajectory.ts";
