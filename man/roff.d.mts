export declare function literal(text: string): string
export declare function prose(text: string): string
export declare function markdown(text: string, linkText: (escaped: string, href: string) => string): string
