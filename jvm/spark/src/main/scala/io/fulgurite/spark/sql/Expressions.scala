package io.fulgurite.spark.sql

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import io.fulgurite.spark.Json
import io.fulgurite.spark.version.Evaluation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/**
 * An expression as native code computes it.
 *
 * @param guard true on rows where Spark's result may be another one, or an error. Spark computes their chunk then, so that a guard may
 *     be true too often, but never too seldom
 */
private[sql] final case class Translated(value: JsonNode, guard: Option[JsonNode])

/** Catalyst's expressions as native ones, with Spark's exact results. Throws [[Refused]] for those that stay Spark's. */
private[sql] object Expressions {
  import Plans._

  def nameOf(attribute: Attribute): String = s"${attribute.name}#${attribute.exprId.id}"

  def translate(expression: Expression): Translated = expression match {
    case attribute: Attribute =>
      Types.taken(attribute.dataType)
      plain(column(nameOf(attribute)))
    case constant: Literal => plain(typed(constant))
    case alias: Alias => translate(alias.child)
    case known: KnownNotNull => translate(known.child)
    case known: KnownFloatingPointNormalized => translate(known.child)
    case normalized: NormalizeNaNAndZero => normalize(normalized.child)
    case cast: Cast => converted(cast)
    case sum: Add => arithmetic("add", sum)
    case difference: Subtract => arithmetic("sub", difference)
    case product: Multiply => arithmetic("mul", product)
    case quotient: Divide => divided(quotient)
    case rest: Remainder => remaining(rest)
    case negated: UnaryMinus if Types.isFloating(negated.dataType) => unary("neg", negated.child)
    case absolute: Abs if Types.isFloating(absolute.dataType) => unary("abs", absolute.child)
    case root: Sqrt => unary("sqrt", root.child)
    case and: And => logic("and", and.left, and.right, whenLeft = false)
    case or: Or => logic("or", or.left, or.right, whenLeft = true)
    case not: Not => unary("not", not.child)
    case equal: EqualTo => compared("eq", equal)
    case equal: EqualNullSafe => compared("eq_missing", equal)
    case less: LessThan => compared("lt", less)
    case less: LessThanOrEqual => compared("le", less)
    case greater: GreaterThan => compared("gt", greater)
    case greater: GreaterThanOrEqual => compared("ge", greater)
    case test: IsNull => unary("is_null", test.child)
    case test: IsNotNull => unary("is_not_null", test.child)
    case test: IsNaN =>
      val of = translate(test.child)
      Translated(call("fill_null", call("is_nan", of.value), boolean(false)), of.guard)
    case in: In => oneOf(in.value, in.list)
    case in: InSet => oneOf(in.child, in.hset.toSeq.map(Literal(_, in.child.dataType)))
    case choice: If => chosen(choice.predicate, choice.trueValue, translate(choice.falseValue), choice.dataType)
    case choice: CaseWhen =>
      val otherwise = translate(choice.elseValue.getOrElse(Literal(null, choice.dataType)))
      choice.branches.foldRight(otherwise) { case ((condition, value), rest) => chosen(condition, value, rest, choice.dataType) }
    case first: Coalesce => first.children.map(translate).reduceRight { (value, rest) =>
      Translated(call("coalesce", value.value, rest.value), or(value.guard, rest.guard))
    }
    case text: StartsWith => matched("str.starts_with", "prefix", text)
    case text: EndsWith => matched("str.ends_with", "suffix", text)
    case text: Contains => containing(text)
    case text: Length if text.child.dataType == StringType => count("str.len_chars", text.child)
    case date: Year => count("dt.year", date.child)
    case date: Month => count("dt.month", date.child)
    case date: DayOfMonth => count("dt.day", date.child)
    case text: Substring => sliced(text)
    case other => throw new Refused(describe(other))
  }

  /** A condition under which a filter keeps rows, and where Spark may say otherwise. */
  def conjunction(conditions: Seq[Expression]): Option[Translated] =
    conditions.reduceOption(And(_, _)).map(translate)

  def or(guards: Option[JsonNode]*): Option[JsonNode] = any(guards.flatten.distinct)

  private def plain(value: JsonNode) = Translated(value, None)

  private def describe(expression: Expression): String = {
    val text = expression.toString
    s"${expression.prettyName}: ${if (text.length > 80) text.take(77) + "..." else text}"
  }

  private def unary(function: String, child: Expression): Translated = {
    val of = translate(child)
    Translated(call(function, of.value), of.guard)
  }

  private def count(function: String, child: Expression): Translated = {
    val of = translate(child)
    Translated(cast("int32", call(function, of.value)), of.guard)
  }

  /** A literal whose type the other operand gives. */
  private def bare(constant: Literal): JsonNode = constant.value match {
    case null => literal("null")(_.putNull("lit"))
    case value: Boolean => boolean(value)
    case value: Float => number(value.toDouble)
    case value: Double => number(value)
    case days: Int if constant.dataType == DateType => literal("date")(_.put("lit", days.toLong))
    case value: UTF8String if isUtf8(value) && constant.dataType == StringType => literal("string")(_.put("lit", value.toString))
    case value: Number if Types.isInteger(constant.dataType) => integer(value.longValue)
    case _ => throw new Refused(describe(constant))
  }

  /** Spark takes strings of any bytes. */
  private def isUtf8(text: UTF8String) = UTF8String.fromString(text.toString) == text

  private def typed(constant: Literal): JsonNode = constant.dataType match {
    case BooleanType | DoubleType if constant.value != null => bare(constant)
    case DateType if constant.value != null => bare(constant)
    case text if text == StringType && constant.value != null => bare(constant)
    case other => cast(Types.taken(other), bare(constant))
  }

  /** Both sides, where the type of one may be the other's. */
  private def operands(left: Expression, right: Expression): (Translated, Translated) = {
    def operand(of: Expression, other: Expression) = (of, other) match {
      case (constant: Literal, _: Literal) => plain(typed(constant))
      case (constant: Literal, _) if constant.value != null => plain(bare(constant))
      case _ => translate(of)
    }
    (operand(left, right), operand(right, left))
  }

  private def compared(function: String, comparison: BinaryComparison): Translated = {
    Types.taken(comparison.left.dataType)
    val (left, right) = operands(comparison.left, comparison.right)
    Translated(call(function, left.value, right.value), or(left.guard, right.guard))
  }

  /** Spark computes the right side of `and` unless the left one is false, and of `or` unless it is true. */
  private def logic(function: String, left: Expression, right: Expression, whenLeft: Boolean): Translated = {
    val (a, b) = (translate(left), translate(right))
    val reached = call("fill_null", if (whenLeft) call("not", a.value) else a.value, boolean(true))
    Translated(call(function, a.value, b.value), or(a.guard, b.guard.map(call("and", reached, _))))
  }

  private def chosen(condition: Expression, value: Expression, otherwise: Translated, dataType: DataType): Translated = {
    Types.taken(dataType)
    val (test, taken) = (translate(condition), translate(value))
    val known = call("fill_null", test.value, boolean(false))
    val guard = or(
      test.guard,
      taken.guard.map(call("and", known, _)),
      otherwise.guard.map(call("and", call("not", known), _)))
    Translated(call("if_else", test.value, taken.value, otherwise.value), guard)
  }

  private def oneOf(value: Expression, list: Seq[Expression]): Translated = {
    val constants = list.map {
      case constant: Literal => constant
      case other => throw new Refused(describe(other))
    }
    val of = translate(value)
    val known = constants.filter(_.value != null)
    val tests =
      if (known.length > MostComparisons && !Types.isFloating(value.dataType)) {
        val values = Json.newArray()
        known.foreach(constant => values.add(bare(constant)))
        Seq(callWith("is_in", options => { options.set[ObjectNode]("values", values); () }, of.value))
      } else known.map(constant => call("eq", of.value, bare(constant)))
    val unknown = if (known.length < constants.length) Seq(cast("boolean", literal("null")(_.putNull("lit")))) else Nil
    Translated(any(tests ++ unknown).getOrElse(throw new Refused("an empty list")), of.guard)
  }

  private def arithmetic(function: String, operation: BinaryArithmetic): Translated = {
    val mode = Evaluation.mode(operation)
    if (mode == EvalMode.TRY) throw new Refused(describe(operation))
    val (left, right) = operands(operation.left, operation.right)
    val overflow = operation.dataType match {
      case FloatType | DoubleType => None
      case other => Types.integerBits(other) match {
        case None => throw new Refused(s"type ${other.simpleString} in ${describe(operation)}")
        case _ if mode != EvalMode.ANSI => None
        case Some(64) =>
          // Within these bounds nothing overflows.
          val bound = if (function == "mul") 1L << 31 else 1L << 62
          any(Seq(operation.left -> left, operation.right -> right).collect {
            case (side, of) if !within(side, bound) => outside(of.value, -bound, bound)
          })
        case Some(bits) =>
          def wide(side: Translated) = cast("int64", side.value)
          Some(outside(call(function, wide(left), wide(right)), -(1L << (bits - 1)), (1L << (bits - 1)) - 1))
      }
    }
    Translated(call(function, left.value, right.value), or(left.guard, right.guard, overflow))
  }

  /** Whether the type, or the value of a literal, keeps `expression` within the bounds. */
  private def within(expression: Expression, bound: Long): Boolean = expression match {
    case Literal(value: Long, _) => -bound <= value && value <= bound
    case cast: Cast => Types.integerBits(cast.child.dataType).exists(_ <= 32)
    case _ => false
  }

  def outside(value: JsonNode, least: Long, greatest: Long): JsonNode =
    call("or", call("lt", value, integer(least)), call("gt", value, integer(greatest)))

  private def divided(quotient: Divide): Translated = {
    if (!Types.isFloating(quotient.dataType)) throw new Refused(s"type ${quotient.dataType.simpleString} in ${describe(quotient)}")
    val mode = Evaluation.mode(quotient)
    val (left, right) = operands(quotient.left, quotient.right)
    val value = call("div", left.value, right.value)
    val isZero = call("eq", right.value, number(0))
    val guards = or(left.guard, right.guard)
    quotient.right match {
      case Literal(by: Double, _) if by != 0 => Translated(value, guards)
      case _ if mode == EvalMode.ANSI => Translated(value, or(guards, Some(isZero)))
      case _ =>
        val missing = cast(Types.taken(quotient.dataType), literal("null")(_.putNull("lit")))
        Translated(call("if_else", isZero, missing, value), guards)
    }
  }

  /** Native code's remainder has the divisor's sign, and Spark's the dividend's. */
  private def remaining(rest: Remainder): Translated = rest.right match {
    case Literal(by: Number, kind) if Types.isInteger(kind) && by.longValue > 0 =>
      val of = translate(rest.left)
      val divisor = bare(rest.right.asInstanceOf[Literal])
      val modulus = call("mod", of.value, divisor)
      val below = call("and", call("lt", of.value, integer(0)), call("ne", modulus, integer(0)))
      Translated(call("if_else", below, call("sub", modulus, divisor), modulus), of.guard)
    case _ => throw new Refused(describe(rest))
  }

  /** Conversions that keep each value, or round an integer as Java does. */
  private def converted(conversion: Cast): Translated = {
    val (from, to) = (conversion.child.dataType, conversion.dataType)
    val exact = (Types.integerBits(from), Types.integerBits(to)) match {
      case (Some(less), Some(more)) => less <= more
      case (Some(_), None) => Types.isFloating(to)
      case _ => from == to || from == FloatType && to == DoubleType
    }
    if (!exact) throw new Refused(describe(conversion))
    val of = translate(conversion.child)
    Translated(if (from == to) of.value else cast(Types.taken(to), of.value), of.guard)
  }

  /** Grouping keys: Spark makes all NaN one, and all zeros positive, before it compares bytes. */
  private def normalize(child: Expression): Translated = {
    val of = translate(child)
    def constant(value: Double) = if (child.dataType == FloatType) cast("float32", number(value)) else number(value)
    val zero = call("if_else", call("eq", of.value, number(0)), constant(0), of.value)
    Translated(call("if_else", call("is_nan", of.value), constant(Double.NaN), zero), of.guard)
  }

  private def matched(function: String, option: String, text: StringPredicate): Translated = {
    val of = translate(text.left)
    Translated(callWith(function, options => { options.put(option, pattern(text)); () }, of.value), of.guard)
  }

  private def containing(text: StringPredicate): Translated = {
    val of = translate(text.left)
    val value = callWith("str.contains", options => { options.put("pattern", pattern(text)).put("literal", true); () }, of.value)
    Translated(value, of.guard)
  }

  private def pattern(text: StringPredicate): String = text.right match {
    case Literal(value: UTF8String, kind) if kind == StringType && text.left.dataType == StringType && isUtf8(value) => value.toString
    case _ => throw new Refused(describe(text))
  }

  private def sliced(text: Substring): Translated = (text.str.dataType, text.pos, text.len) match {
    case (kind, Literal(position: Int, _), Literal(length: Int, _)) if kind == StringType && position >= 1 && length >= 0 =>
      val of = translate(text.str)
      Translated(callWith("str.slice", options => { options.put("offset", position - 1).put("length", length); () }, of.value), of.guard)
    case _ => throw new Refused(describe(text))
  }

  /** A longer list is looked up. */
  private val MostComparisons = 8
}
