export type Operator = "+" | "-" | "*" | "/";

/** A line of a solution, with the calculator mark that GSM8K's solutions have. */
export function working(left: number, operator: Operator, right: number): string {
  const value = { "+": left + right, "-": left - right, "*": left * right, "/": left / right }[operator];
  return `${left} ${operator} ${right} = <<${left}${operator}${right}=${value}>>${value}`;
}
