export interface Encoded { readonly bytes: Uint8Array }
export interface Block { readonly epoch: number }
