/** A page's heading: where the focus goes when the page is opened. */
export const Title = ({ title }: { readonly title: string }) => <h1 tabIndex={-1}>{title}</h1>
