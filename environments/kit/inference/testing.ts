/** What tests of anything that samples need: an inference server in memory, and its tokenizer. */
export { type Asked, FakeServer, type FakeServerOptions, fakeEndpoint, type Sampled } from "./testing/fake-server.ts";
export { seededRandom } from "./testing/random.ts";
export { decode, END, encode, render, type ToyTemplate } from "./testing/toy-tokenizer.ts";
