/** Chat messages, in the shape every chat server takes them. */

export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  /** `arguments` is JSON text. */
  readonly function: { readonly name: string; readonly arguments: string };
}

export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } };

export interface Message {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content: string | readonly ContentPart[];
  readonly name?: string;
  readonly tool_calls?: readonly ToolCall[];
  /** Of a tool's answer: the call it answers. */
  readonly tool_call_id?: string;
}

export interface Tool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    /** A JSON schema. */
    readonly parameters?: Readonly<Record<string, unknown>>;
  };
}
