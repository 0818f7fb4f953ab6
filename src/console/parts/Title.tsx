/** A page's heading, which gets the focus when the page is opened. */
export const Title = ({ title }: { readonly title: string }) => <h1 tabIndex={-1}>{title}</h1>
